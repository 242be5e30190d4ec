/** A document of a knowledge base, chosen by its name. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useDeferredValue, useEffect, useId, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, call } from "@/api/client";
import { TextField } from "@/components/forms/Field";

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
  const part = useDeferredValue(name.trim());
  const listed = useQuery({
    queryKey: ["documents", kbId, "choice", part],
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/knowledge-bases/{kb_id}/documents", {
          params: {
            path: { kb_id: kbId },
            query: { page: 1, page_size: 50, name_contains: part, sort_by: "name", sort_order: "asc" },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
  const documents = listed.data?.items ?? [];
  const found = documents.find((document) => document.name === name);
  // A name that was typed, not chosen from the list, is known once the list has come.
  useEffect(() => {
    if (found?.id !== chosen?.id) onChoose(found ? { id: found.id, name: found.name } : null);
  }, [found, chosen, onChoose]);
  return (
    <>
      <TextField
        label={t("choose.document")}
        hint={(listed.data?.total ?? 0) > documents.length ? t("choose.document_hint") : undefined}
        error={part && listed.data?.total === 0 && !listed.isPlaceholderData ? t("choose.no_document") : undefined}
        list={`${id}-names`}
        value={name}
        onChange={(event) => setName(event.target.value)}
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
