/** What stands beside the text: its form or its preview, with the text or alone. */
import { Link } from "@tanstack/react-router";
import { PanelLeftClose, PanelLeftOpen } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import type { SideSearch } from "../searchParams";
import styles from "./Workbench.module.css";

/** The addresses at which a skill is written. */
export type EditorAddress = "/skills/new" | "/skills/$skillId/";

interface Props {
  from: EditorAddress;
  side: SideSearch["side"];
  isTextShown: boolean;
  onTextShown: (shown: boolean) => void;
}

export function SideTabs({ from, side, isTextShown, onTextShown }: Props) {
  const { t } = useTranslation(["skills", "common"]);
  return (
    <div className={styles.sideHead}>
      <nav className={styles.sideLinks} aria-label={t("editor.side")}>
        <Link from={from} to="." search={{}} replace aria-current={side ? undefined : "true"}>
          {t("editor.form")}
        </Link>
        <Link from={from} to="." search={{ side: "preview" }} replace aria-current={side ? "true" : undefined}>
          {t("editor.preview")}
        </Link>
      </nav>
      <Button
        size="s"
        variant="ghost"
        icon={isTextShown ? PanelLeftClose : PanelLeftOpen}
        onClick={() => onTextShown(!isTextShown)}
      >
        {t(isTextShown ? "editor.hide_text" : "editor.show_text")}
      </Button>
    </div>
  );
}

const KEY = "agentex.skill-text";

/** Whether the text is shown, as the person chose last; at first where there is room for it. */
export function useTextShown(): [boolean, (shown: boolean) => void] {
  const [isShown, setIsShown] = useState(() => {
    const kept = localStorage.getItem(KEY);
    return kept ? kept === "shown" : window.matchMedia("(min-width: 62rem)").matches;
  });
  function choose(shown: boolean) {
    localStorage.setItem(KEY, shown ? "shown" : "hidden");
    setIsShown(shown);
  }
  return [isShown, choose];
}
