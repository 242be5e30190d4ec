/** The last syncs and previews of a source side by side, and what could not be read. */
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Skeleton } from "@/components/layout/Page";
import { Dialog } from "@/components/overlays/Dialog";
import { formatDateTime, formatNumber } from "@/i18n/format";
import form from "../Form.module.css";
import { useFailureText } from "../useFailureText";
import { SyncBadge } from "./SourceItem";
import styles from "./Sources.module.css";
import { failuresQuery, type KnowledgeSource, OUTCOMES, type Sync, syncsQuery } from "./sourceQueries";

export function SyncHistory({ source, onClose }: { source: KnowledgeSource; onClose: () => void }) {
  const { t } = useTranslation("knowledge");
  const { data, error } = useQuery(syncsQuery(source));
  return (
    <Dialog open wide onClose={onClose} title={t("source.history_title", { name: source.name })}>
      <div className={form.form}>
        {error && !data && <ErrorNotice error={error} />}
        {!data && !error && <Skeleton lines={3} />}
        {data && <SyncTable syncs={data} />}
        {data?.[0] && <Examples sync={data[0]} />}
        {(source.last_sync?.counts.failed ?? 0) > 0 && <Failures source={source} />}
      </div>
    </Dialog>
  );
}

/** What most syncs have; columns of the others are shown where one of the syncs has such items. */
const USUAL: ReadonlySet<string> = new Set(["created", "updated", "deleted", "failed", "unchanged"]);

function SyncTable({ syncs }: { syncs: readonly Sync[] }) {
  const { t } = useTranslation("knowledge");
  const label = t("source.history");
  const outcomes = OUTCOMES.filter((outcome) => USUAL.has(outcome) || syncs.some((sync) => sync.counts[outcome]));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section aria-label={label} tabIndex={0} className={styles.scroll}>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">{t("source.begun")}</th>
            <th scope="col">{t("source.state")}</th>
            {outcomes.map((outcome) => (
              <th key={outcome} scope="col" className={styles.number}>
                {t(`source.outcome.${outcome}`)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {syncs.map((sync) => (
            <tr key={sync.id}>
              <td>{formatDateTime(sync.created_at)}</td>
              <td>
                <SyncBadge sync={sync} />
              </td>
              {outcomes.map((outcome) => (
                <td key={outcome} className={styles.number}>
                  {formatNumber(sync.counts[outcome] ?? 0)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Names behind the counts of the newest one. */
function Examples({ sync: { examples, is_preview } }: { sync: Sync }) {
  const { t } = useTranslation("knowledge");
  // Failures are listed below with their reasons.
  const named = OUTCOMES.filter((outcome) => examples[outcome]?.length && (is_preview || outcome !== "failed"));
  if (named.length === 0) return null;
  return (
    <section className={form.form}>
      <h3>{t(is_preview ? "source.would" : "source.did")}</h3>
      {named.map((outcome) => (
        <div key={outcome}>
          <strong className={styles.outcome}>{t(`source.outcome.${outcome}`)}</strong>
          <ul className={form.points}>
            {examples[outcome]?.map((name) => (
              <li key={name}>{name}</li>
            ))}
          </ul>
        </div>
      ))}
    </section>
  );
}

function Failures({ source }: { source: KnowledgeSource }) {
  const { t } = useTranslation("knowledge");
  const said = useFailureText();
  const { data } = useQuery(failuresQuery(source));
  if (!data?.total) return null;
  return (
    <section className={form.form}>
      <h3>{t("source.failures")}</h3>
      <ul className={form.points}>
        {data.items.map(({ key, failure }) => {
          const { message, next } = said(failure ?? {});
          return (
            <li key={key}>
              <code>{key}</code>
              <span className={form.small}>{[message, next].filter(Boolean).join(" · ")}</span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
