/** The passages of one answer. */
import { SearchX } from "lucide-react";
import { type ReactNode, useMemo } from "react";
import { useTranslation } from "react-i18next";
import { EmptyState } from "@/components/feedback/Notice";
import type { Twin } from "../evaluations/comparison";
import type { SearchAnswer } from "../searchQueries";
import { HitCard } from "./HitCard";
import styles from "./HitList.module.css";
import { rankPlaces } from "./scoreParts";

export function HitList({
  answer,
  folded,
  source,
  twins,
}: {
  answer: SearchAnswer;
  folded?: boolean;
  source?: (knowledgeBaseId: string) => ReactNode;
  /** The same passages in the answer beside this one, by id. */
  twins?: ReadonlyMap<string, Twin> | undefined;
}) {
  const { t } = useTranslation("search");
  const { explain, results, request } = answer;
  const places = useMemo(() => rankPlaces(results, explain?.dropped ?? []), [results, explain]);
  if (!results.length)
    return (
      <EmptyState icon={SearchX} title={t("result.none")}>
        {t(explain?.dropped.length ? "result.none_kept" : "result.none_hint")}
      </EmptyState>
    );
  return (
    <ol className={styles.list}>
      {results.map((hit, index) => (
        <li key={hit.chunk_id}>
          <HitCard
            hit={hit}
            place={index + 1}
            query={request.query}
            path={explain ? { weights: explain.weights, places: places.get(hit.chunk_id) } : null}
            folded={folded ?? false}
            source={source?.(hit.knowledge_base_id)}
            twin={twins && (twins.get(hit.chunk_id) ?? null)}
          />
        </li>
      ))}
    </ol>
  );
}
