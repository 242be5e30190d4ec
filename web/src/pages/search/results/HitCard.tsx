/** One passage of an answer: where it stands, what it says, how it came to its place. */
import { Link } from "@tanstack/react-router";
import { ChevronRight } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Badge } from "@/components/feedback/Badge";
import { Disclosure } from "@/components/overlays/Disclosure";
import type { Twin } from "../evaluations/comparison";
import type { Passage } from "../searchQueries";
import styles from "./HitCard.module.css";
import { PassageText } from "./PassageText";
import { precise, ScorePath, type ScorePathProps } from "./ScorePath";

export function HitCard({
  hit,
  place,
  query,
  path,
  folded,
  source,
  twin,
}: {
  hit: Passage;
  place: number;
  query: string;
  path: Omit<ScorePathProps, "legs" | "score"> | null;
  /** Whether its way stands behind a disclosure. */
  folded?: boolean;
  /** The knowledge base's name, where there are several. */
  source?: ReactNode;
  twin?: Twin | null | undefined;
}) {
  const { t } = useTranslation("search");
  const way = path && hit.legs && <ScorePath {...path} legs={hit.legs} score={hit.score} />;
  const link = twin ? styles[`link${(twin.number - 1) % 5}`] : twin === null ? styles.alone : undefined;
  return (
    <article className={[styles.card, link].filter(Boolean).join(" ")}>
      <header className={styles.header}>
        <span className={styles.place} title={t("hit.place", { place })}>
          <span className="visually-hidden">{t("hit.place", { place })}</span>
          <span aria-hidden>{place}</span>
        </span>
        <div className={styles.where}>
          <h3 className={styles.name}>
            <DocumentLink hit={hit} />
          </h3>
          <HeadingPath path={hit.heading_path} page={hit.page} source={source} />
        </div>
        <span className={styles.score} title={t("hit.score_hint")}>
          {precise(hit.score)}
        </span>
      </header>
      <TwinLine twin={twin} place={place} />
      <PassageText
        text={hit.content}
        heading={hit.heading_path.at(-1)}
        query={query}
        before={hit.before}
        after={hit.after}
      />
      {way &&
        (folded ? (
          <Disclosure plain title={t("hit.way")}>
            {way}
          </Disclosure>
        ) : (
          way
        ))}
    </article>
  );
}

function DocumentLink({ hit }: { hit: Passage }) {
  return (
    <Link
      to="/knowledge-bases/$kbId/documents/$documentId"
      params={{ kbId: hit.knowledge_base_id, documentId: hit.document_id }}
      search={{ chunk: hit.chunk_id }}
    >
      {hit.document_name}
    </Link>
  );
}

export function HeadingPath({
  path,
  page,
  source,
}: {
  path: readonly string[];
  page: number | null;
  source?: ReactNode;
}) {
  const { t } = useTranslation("search");
  if (!path.length && page === null && !source) return null;
  return (
    <p className={styles.headings}>
      {source}
      {path.map((heading, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: headings can repeat
        <span key={index} className={styles.heading}>
          {(index > 0 || source) && <ChevronRight size={12} aria-hidden />}
          {heading}
        </span>
      ))}
      {page !== null && <Badge>{t("hit.page", { page })}</Badge>}
    </p>
  );
}

function TwinLine({ twin, place }: { twin: Twin | null | undefined; place: number }) {
  const { t } = useTranslation("search");
  if (twin === undefined) return null;
  if (twin === null) return <p className={styles.twin}>{t("compare.only_here")}</p>;
  const by = twin.place - place;
  return (
    <p className={styles.twin}>
      <span className={styles.link} aria-hidden>
        {twin.number}
      </span>
      {by === 0
        ? t("compare.same_place")
        : t(by > 0 ? "compare.better_here" : "compare.worse_here", { place: twin.place, number: twin.number })}
    </p>
  );
}
