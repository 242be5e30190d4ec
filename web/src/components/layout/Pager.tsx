/** Links to the pages before and after. */
import { ChevronLeft, ChevronRight } from "lucide-react";
import { useTranslation } from "react-i18next";
import { IconButton } from "@/components/Button";
import styles from "./Pager.module.css";

export function Pager({ page, pages, onPage }: { page: number; pages: number; onPage: (page: number) => void }) {
  const { t } = useTranslation();
  if (pages <= 1) return null;
  return (
    <nav aria-label={t("pager.label")} className={styles.pager}>
      <IconButton
        icon={ChevronLeft}
        label={t("pager.previous")}
        disabled={page <= 1}
        onClick={() => onPage(page - 1)}
      />
      <span aria-live="polite">{t("pager.page", { page, pages })}</span>
      <IconButton
        icon={ChevronRight}
        label={t("pager.next")}
        disabled={page >= pages}
        onClick={() => onPage(page + 1)}
      />
    </nav>
  );
}
