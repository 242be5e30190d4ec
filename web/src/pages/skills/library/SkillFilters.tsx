/** What is shown of the library. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { X } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { SelectField } from "@/components/forms/Field";
import { SearchField } from "@/components/forms/SearchField";
import type { LibrarySearch } from "../searchParams";
import { facetsQuery, pendingCountQuery } from "../skillQueries";
import styles from "./SkillList.module.css";

const route = getRouteApi("/shell/skills");

export function SkillFilters() {
  const { t } = useTranslation(["skills", "common"]);
  const search = route.useSearch();
  const navigate = useNavigate();
  const { data: facets } = useQuery(facetsQuery);
  const { data: waiting } = useQuery(pendingCountQuery);
  const set = (changes: LibrarySearch) =>
    void navigate({
      to: "/skills",
      search: (before: LibrarySearch) => ({ ...before, ...changes, page: undefined }),
      replace: true,
    });
  const any = { value: "", label: t("library.any") };
  const choices = (words: string[] | undefined, chosen: string | undefined) => [
    any,
    ...[...new Set([...(words ?? []), ...(chosen ? [chosen] : [])])].map((word) => ({ value: word, label: word })),
  ];
  const isFiltered = Boolean(search.q || search.tag || search.category);
  return (
    <search className={styles.filters}>
      <SearchField
        label={t("common:action.search")}
        placeholder={t("library.search_hint")}
        value={search.q ?? ""}
        onSearch={(q) => set({ q: q || undefined })}
      />
      <SelectField
        label={t("library.show")}
        value={search.show ?? ""}
        options={[
          { value: "", label: t("library.mine") },
          { value: "all", label: t("library.all") },
          { value: "pending", label: t("library.pending", { count: waiting ?? 0 }) },
        ]}
        onChange={({ target: { value } }) => set({ show: value === "all" || value === "pending" ? value : undefined })}
      />
      <SelectField
        label={t("form.category")}
        value={search.category ?? ""}
        options={choices(facets?.categories, search.category)}
        onChange={({ target: { value } }) => set({ category: value || undefined })}
      />
      <SelectField
        label={t("library.by_tag")}
        value={search.tag ?? ""}
        options={choices(facets?.tags, search.tag)}
        onChange={({ target: { value } }) => set({ tag: value || undefined })}
      />
      {isFiltered && (
        <Button variant="ghost" icon={X} onClick={() => set({ q: undefined, tag: undefined, category: undefined })}>
          {t("library.clear")}
        </Button>
      )}
    </search>
  );
}
