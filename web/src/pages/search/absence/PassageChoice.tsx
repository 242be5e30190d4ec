/** A passage of a document, chosen from the list or by words of it. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useId } from "react";
import { useTranslation } from "react-i18next";
import { api, call } from "@/api/client";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { TextField } from "@/components/forms/Field";
import { Skeleton } from "@/components/layout/Page";
import { Marked } from "../results/PassageText";
import type { ExpectedChunk } from "../searchQueries";
import styles from "./PassageChoice.module.css";

export function PassageChoice({
  kbId,
  documentId,
  words,
  onWords,
  chosen,
  onChoose,
}: {
  kbId: string;
  documentId: string;
  words: string;
  onWords: (words: string) => void;
  chosen: string | null;
  onChoose: (chunk: ExpectedChunk) => void;
}) {
  const { t } = useTranslation("search");
  const name = useId();
  const chunks = useInfiniteQuery({
    queryKey: ["chunks", kbId, documentId, "choice"],
    queryFn: ({ pageParam, signal }) =>
      call(
        api.GET("/api/v1/knowledge-bases/{kb_id}/documents/{doc_id}/chunks", {
          params: { path: { kb_id: kbId, doc_id: documentId }, query: { page: pageParam, page_size: 100 } },
          signal,
        }),
      ),
    initialPageParam: 1,
    getNextPageParam: ({ page, pages }) => (page < pages ? page + 1 : undefined),
  });
  const all = chunks.data?.pages.flatMap(({ items }) => items) ?? [];
  const plain = (text: string) => text.toLowerCase().replace(/\s+/g, " ").trim();
  const matching = all.filter(({ content }) => plain(content).includes(plain(words)));
  return (
    <>
      <TextField
        label={t("choose.words")}
        hint={t("choose.words_hint")}
        value={words}
        maxLength={10_000}
        onChange={(event) => onWords(event.target.value)}
      />
      {chunks.isPending && <Skeleton lines={4} />}
      {chunks.error && <ErrorNotice error={chunks.error} onRetry={() => void chunks.refetch()} />}
      {chunks.data && (
        <fieldset className={styles.list}>
          <legend className="visually-hidden">{t("choose.passages")}</legend>
          {matching.map((chunk) => (
            <label key={chunk.id} className={styles.passage}>
              <input type="radio" name={name} checked={chosen === chunk.id} onChange={() => onChoose(chunk)} />
              <span>
                {chunk.heading_path.length > 0 && <strong>{chunk.heading_path.join(" › ")}</strong>}
                <span className={styles.excerpt}>
                  <Marked text={chunk.content.slice(0, 300)} query={words} />
                </span>
              </span>
            </label>
          ))}
          {!matching.length && <p className={styles.none}>{t("choose.no_passage")}</p>}
          {chunks.hasNextPage && (
            <Button size="s" busy={chunks.isFetchingNextPage} onClick={() => void chunks.fetchNextPage()}>
              {t("choose.more")}
            </Button>
          )}
        </fieldset>
      )}
    </>
  );
}
