/** Names and values of settings in words. */
import { useTranslation } from "react-i18next";
import { formatNumber } from "@/i18n/format";

const OPTIONS = [
  "top_k",
  "score_threshold",
  "dense_weight",
  "neighbours",
  "expand",
  "expand_tokens",
  "rerank",
  "reranker",
  "deduplicate",
] as const;
const SETTINGS = [
  "embedding_model",
  "splitter",
  "chunk_size",
  "chunk_overlap",
  "documents",
  "chunks",
  "disabled_chunks",
  "questions",
] as const;

export function useSettingWords() {
  const { t } = useTranslation("search");
  return {
    /** A setting of a newer server keeps its own name. */
    name(name: string): string {
      const option = OPTIONS.find((each) => each === name);
      const setting = SETTINGS.find((each) => each === name);
      return option ? t(`option.${option}`) : setting ? t(`setting.${setting}`) : name;
    },
    value(value: unknown): string {
      if (value === undefined || value === null) return t("option.default", { value: "" });
      if (typeof value === "boolean") return t(value ? "option.yes" : "option.no");
      return typeof value === "number" ? formatNumber(value) : String(value);
    },
  };
}
