/** The editor's own words in the person's language. */
import { useMemo } from "react";
import { useTranslation } from "react-i18next";

export function usePhrases(): Record<string, string> {
  const { t } = useTranslation(["skills", "common"]);
  return useMemo(
    () => ({
      Find: t("editor.find.find"),
      Replace: t("editor.find.replace_with"),
      next: t("editor.find.next"),
      previous: t("editor.find.previous"),
      all: t("editor.find.all"),
      "match case": t("editor.find.case"),
      regexp: t("editor.find.regexp"),
      "by word": t("editor.find.word"),
      replace: t("editor.find.replace"),
      "replace all": t("editor.find.replace_all"),
      close: t("editor.find.close"),
      Accept: t("conflict.accept"),
      Reject: t("conflict.reject"),
      Completions: t("editor.completions"),
      "$ unchanged lines": t("editor.find.unchanged"),
      Diagnostics: t("problems.title"),
      "No diagnostics": t("problems.none"),
    }),
    [t],
  );
}
