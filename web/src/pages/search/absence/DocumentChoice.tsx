/** A document of a knowledge base, chosen by its name. */
import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, call } from "@/api/client";
import { TextField } from "@/components/Field";

export interface ChosenDocument {
  id: string;
  name: string;
}

export function DocumentChoice({
  kbId,
  chosen,
  onChoose,
}: {
  kbId: string;
  chosen: ChosenDocument | null;
  onChoose: (document: ChosenDocument | null) => void;
}) {
  const { t } = useTranslation("search");
  const id = useId();
  const [name, setName] = useState(chosen?.name ?? "");
  const listed = useQuery({
    queryKey: ["documents", kbId, "choice"],
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/knowledge-bases/{kb_id}/documents", {
          params: { path: { kb_id: kbId }, query: { page: 1, page_size: 100, sort_by: "name", sort_order: "asc" } },
          signal,
        }),
      ),
  });
  const documents = listed.data?.items ?? [];
  // The list ends at a hundred; the name of another document can still be written.
  const other = useQuery({
    queryKey: ["documents", kbId, "named", name],
    queryFn: async ({ signal }) => {
      const { items } = await call(
        api.GET("/api/v1/knowledge-bases/{kb_id}/documents", {
          params: { path: { kb_id: kbId }, query: { page: 1, page_size: 1, name } },
          signal,
        }),
      );
      const found = items[0];
      if (found) onChoose({ id: found.id, name: found.name });
      return found ?? null;
    },
    enabled: Boolean(name) && Boolean(listed.data) && !documents.some((document) => document.name.includes(name)),
  });

  function change(value: string) {
    setName(value);
    const found = documents.find((document) => document.name === value);
    onChoose(found ? { id: found.id, name: found.name } : null);
  }
  return (
    <>
      <TextField
        label={t("choose.document")}
        hint={(listed.data?.total ?? 0) > documents.length ? t("choose.document_hint") : undefined}
        error={name && !chosen && other.data === null ? t("choose.no_document") : undefined}
        list={`${id}-names`}
        value={name}
        onChange={(event) => change(event.target.value)}
        autoComplete="off"
      />
      <datalist id={`${id}-names`}>
        {documents.map((document) => (
          <option key={document.id} value={document.name} />
        ))}
      </datalist>
    </>
  );
}
