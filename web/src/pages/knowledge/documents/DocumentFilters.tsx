/** Which documents are shown, and in which order. */
import { useTranslation } from "react-i18next";
import { SearchField } from "@/components/forms/SearchField";
import { type DocumentSearch, MOST_LETTERS, SORTS, STATUSES } from "../searchParams";
import styles from "./Documents.module.css";

export function DocumentFilters({
  search,
  set,
  total,
}: {
  search: DocumentSearch;
  set: (part: Partial<DocumentSearch>) => void;
  total: number;
}) {
  const { t } = useTranslation("knowledge");
  return (
    <search className={styles.filters}>
      <SearchField
        label={t("documents.name_filter")}
        hidesLabel
        value={search.q ?? ""}
        maxLength={MOST_LETTERS}
        onSearch={(q) => set({ q: q || undefined, page: undefined })}
      />
      <label>
        {t("documents.status")}
        <select
          aria-label={t("documents.status")}
          value={search.status ?? ""}
          onChange={(event) =>
            set({ status: STATUSES.find((status) => status === event.target.value), page: undefined })
          }
        >
          <option value="">{t("documents.all")}</option>
          {STATUSES.map((status) => (
            <option key={status} value={status}>
              {t(`status.${status}`)}
            </option>
          ))}
        </select>
      </label>
      <label>
        {t("documents.sort")}
        <select
          aria-label={t("documents.sort")}
          value={search.sort ?? "updated_at"}
          onChange={(event) =>
            set({ sort: SORTS.find((sort) => sort === event.target.value), order: undefined, page: undefined })
          }
        >
          {SORTS.map((sort) => (
            <option key={sort} value={sort}>
              {t(`sort.${sort}`)}
            </option>
          ))}
        </select>
      </label>
      <output className={styles.count}>{t("documents.count", { count: total })}</output>
    </search>
  );
}
