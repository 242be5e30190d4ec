/** What is said while the server can't be reached; the console goes on by itself afterwards. */
import { CloudOff } from "lucide-react";
import { useEffect } from "react";
import { useTranslation } from "react-i18next";
import { useConnection } from "@/api/connection";
import styles from "./ConnectionNotice.module.css";

export function ConnectionNotice() {
  const { t } = useTranslation();
  const connection = useConnection();
  const isFine = connection === "fine";
  useEffect(() => {
    document.documentElement.toggleAttribute("data-unconnected", !isFine);
  }, [isFine]);
  return (
    <div role="status" className={styles.place}>
      {connection !== "fine" && (
        <p className={styles.notice}>
          <CloudOff size={18} aria-hidden />
          <span>{t(`connection.${connection}`)}</span>
        </p>
      )}
    </div>
  );
}
