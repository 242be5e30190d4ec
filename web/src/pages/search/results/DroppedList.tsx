/** Candidates that are not in the answer, each with its first reason. */
import { HelpCircle } from "lucide-react";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { SelectField } from "@/components/forms/Field";
import { ActionsHead } from "@/components/layout/ActionsHead";
import { Table } from "@/components/layout/Page";
import { Disclosure } from "@/components/overlays/Disclosure";
import { formatNumber } from "@/i18n/format";
import { reasonText } from "../absence/reasonText";
import { type SearchAnswer, useChunk, useDocument } from "../searchQueries";
import styles from "./DroppedList.module.css";
import { Marked } from "./PassageText";
import { precise } from "./ScorePath";
import { rankPlaces } from "./scoreParts";

const STEP = 10;
type Dropped = NonNullable<SearchAnswer["explain"]>["dropped"][number];

export function DroppedList({
  kbId,
  answer,
  onWhy,
}: {
  kbId: string;
  answer: SearchAnswer;
  onWhy: (chunkId: string) => void;
}) {
  const { t } = useTranslation("search");
  const [open, setOpen] = useState(false);
  const dropped = answer.explain?.dropped ?? [];
  if (!dropped.length) return null;
  return (
    <Disclosure title={t("dropped.title", { count: dropped.length })} open={open} onToggle={setOpen}>
      {open && <DroppedTable kbId={kbId} answer={answer} dropped={dropped} onWhy={onWhy} />}
    </Disclosure>
  );
}

function DroppedTable({
  kbId,
  answer,
  dropped,
  onWhy,
}: {
  kbId: string;
  answer: SearchAnswer;
  dropped: readonly Dropped[];
  onWhy: (chunkId: string) => void;
}) {
  const { t } = useTranslation("search");
  const [reason, setReason] = useState("");
  const [shown, setShown] = useState(STEP);
  const places = useMemo(() => rankPlaces(answer.results, dropped), [answer, dropped]);
  const reasons = [...new Map(dropped.map(({ reason: each }) => [each.code, each])).values()];
  const chosen = dropped.filter(({ reason: { code } }) => !reason || code === reason);
  return (
    <div className={styles.dropped}>
      {reasons.length > 1 && (
        <SelectField
          label={t("dropped.reason")}
          value={reason}
          options={[
            { value: "", label: t("dropped.all") },
            ...reasons.map((each) => ({ value: each.code, label: reasonText(each) })),
          ]}
          onChange={(event) => {
            setReason(event.target.value);
            setShown(STEP);
          }}
        />
      )}
      <Table
        label={t("dropped.table")}
        head={
          <>
            {(["place", "passage", "reason", "dense", "sparse", "score"] as const).map((column) => (
              <th key={column} scope="col">
                {t(`dropped.column.${column}`)}
              </th>
            ))}
            <ActionsHead />
          </>
        }
      >
        {chosen.slice(0, shown).map((hit) => (
          <DroppedRow
            key={hit.chunk_id}
            kbId={kbId}
            hit={hit}
            query={answer.request.query}
            place={places.get(hit.chunk_id)?.final}
            onWhy={() => onWhy(hit.chunk_id)}
          />
        ))}
      </Table>
      {chosen.length > shown && (
        <Button size="s" onClick={() => setShown(shown + STEP)}>
          {t("dropped.more", {
            count: Math.min(STEP, chosen.length - shown),
            left: formatNumber(chosen.length - shown),
          })}
        </Button>
      )}
    </div>
  );
}

function DroppedRow({
  kbId,
  hit,
  query,
  place,
  onWhy,
}: {
  kbId: string;
  hit: Dropped;
  query: string;
  place: number | undefined;
  onWhy: () => void;
}) {
  const { t } = useTranslation("search");
  const chunk = useChunk(kbId, hit.chunk_id);
  const document = useDocument(kbId, hit.document_id);
  const leg = (at: { rank: number; score: number } | null | undefined) =>
    at ? `#${at.rank} · ${precise(at.score)}` : "–";
  return (
    <tr>
      <td>{place ?? "–"}</td>
      <td className={styles.passage}>
        <strong>{document.data?.name ?? "…"}</strong>
        {chunk.data && (
          <p className={styles.excerpt}>
            <Marked text={chunk.data.content.slice(0, 240)} query={query} />
          </p>
        )}
      </td>
      <td className={styles.reason}>{reasonText(hit.reason)}</td>
      <td className={styles.number}>{leg(hit.legs?.dense)}</td>
      <td className={styles.number}>{leg(hit.legs?.sparse)}</td>
      <td className={styles.number}>{hit.score == null ? "–" : precise(hit.score)}</td>
      <td>
        <Button size="s" variant="ghost" icon={HelpCircle} onClick={onWhy}>
          {t("dropped.why")}
        </Button>
      </td>
    </tr>
  );
}
