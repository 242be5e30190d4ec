/** A recorded retrieval of a chat: what was asked and found, and the same retrieval of today beside it. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { FlaskConical, RotateCw } from "lucide-react";
import { useTranslation } from "react-i18next";
import { api, call, type Schemas } from "@/api/client";
import { Button, LinkButton } from "@/components/Button";
import { Badge, type Tone } from "@/components/feedback/Badge";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Notice } from "@/components/feedback/Notice";
import { Page, Section, Skeleton, Table } from "@/components/layout/Page";
import { formatDateTime } from "@/i18n/format";
import { reasonText } from "./absence/reasonText";
import styles from "./RetrievalPage.module.css";
import { precise } from "./results/ScorePath";
import { readFilters, readOptions } from "./searchParams";
import { SettingsList } from "./settings/SettingsList";

type Retrieval = Schemas["RetrievalAnswer"];
type Replay = Schemas["ReplayAnswer"];
type ReplayChange = Replay["changes"][number];

const TONES: Record<ReplayChange["status"], Tone> = { same: "success", moved: "info", gone: "danger", new: "warning" };
const route = getRouteApi("/shell/retrievals/$retrievalId");

export function RetrievalPage() {
  const { t } = useTranslation("search");
  const { retrievalId } = route.useParams();
  const path = { retrieval_id: retrievalId };
  const retrieval = useQuery({
    queryKey: ["retrieval", retrievalId],
    queryFn: ({ signal }) => call(api.GET("/api/v1/retrievals/{retrieval_id}", { params: { path }, signal })),
  });
  const replay = useMutation({
    mutationFn: () => call(api.POST("/api/v1/retrievals/{retrieval_id}/replay", { params: { path } })),
  });
  return (
    <Page
      title={t("retrieval.title")}
      lead={t("retrieval.lead")}
      actions={
        retrieval.data && (
          <>
            <TestLink retrieval={retrieval.data} />
            <Button variant="primary" icon={RotateCw} busy={replay.isPending} onClick={() => replay.mutate()}>
              {t("retrieval.replay")}
            </Button>
          </>
        )
      }
    >
      {retrieval.error && <ErrorNotice error={retrieval.error} onRetry={() => void retrieval.refetch()} />}
      {retrieval.isPending && <Skeleton lines={6} />}
      {replay.error && <ErrorNotice error={replay.error} />}
      {retrieval.data && <Recorded retrieval={retrieval.data} />}
      {replay.data && <Replayed replay={replay.data} />}
    </Page>
  );
}

/** The same search in the search test, where it asked one knowledge base. */
function TestLink({ retrieval }: { retrieval: Retrieval }) {
  const { t } = useTranslation("search");
  const { request } = retrieval;
  const [kbId, ...others] = request.knowledge_base_ids;
  if (!kbId || others.length) return null;
  const filters = readFilters(request.filters);
  const options = readOptions(request);
  return (
    <LinkButton
      icon={FlaskConical}
      to="/knowledge-bases/$kbId/search"
      params={{ kbId }}
      search={{ q: request.query, ...(filters && { filters }), ...(options && { options }) }}
    >
      {t("wide.test")}
    </LinkButton>
  );
}

function Recorded({ retrieval }: { retrieval: Retrieval }) {
  const { t } = useTranslation("search");
  const { query, knowledge_base_ids: _, filters: __, ...options } = retrieval.request;
  return (
    <Section title={t("retrieval.asked", { time: formatDateTime(retrieval.created_at) })}>
      <blockquote className={styles.query}>{query}</blockquote>
      <SettingsList settings={options} />
      {retrieval.results.length ? (
        <Table label={t("retrieval.found")} head={<PassageHead />}>
          {retrieval.results.map((passage) => (
            <tr key={passage.chunk_id}>
              <td>{passage.place}</td>
              <td>
                <Link
                  to="/knowledge-bases/$kbId/documents/$documentId"
                  params={{ kbId: passage.knowledge_base_id, documentId: passage.document_id }}
                  search={{ chunk: passage.chunk_id }}
                >
                  {passage.document_name}
                </Link>
              </td>
              <td>{precise(passage.score)}</td>
            </tr>
          ))}
        </Table>
      ) : (
        <p>{t("result.none")}</p>
      )}
    </Section>
  );
}

function PassageHead() {
  const { t } = useTranslation("search");
  return (
    <>
      <th scope="col">{t("dropped.column.place")}</th>
      <th scope="col">{t("question.document")}</th>
      <th scope="col">{t("dropped.column.score")}</th>
    </>
  );
}

function Replayed({ replay }: { replay: Replay }) {
  const { t } = useTranslation("search");
  const place = (at: number | null) => (at === null ? "–" : t("path.rank", { rank: at }));
  const score = (value: number | null) => (value === null ? "–" : precise(value));
  return (
    <Section title={t("retrieval.now")}>
      <div role="status">
        <Notice tone={replay.same ? "success" : "info"}>
          {t(replay.same ? "retrieval.same" : "retrieval.different")}
        </Notice>
      </div>
      {replay.now.warnings.map((warning) => (
        <Notice key={`${warning.code} ${warning.message}`} tone="warning">
          {reasonText(warning)}
        </Notice>
      ))}
      <Table
        label={t("retrieval.now")}
        head={(["status", "document", "place_then", "place_now", "score_then", "score_now"] as const).map((name) => (
          <th key={name} scope="col">
            {t(`retrieval.column.${name}`)}
          </th>
        ))}
      >
        {replay.changes.map((change) => (
          <tr key={`${change.status} ${change.chunk_id}`}>
            <td>
              <Badge tone={TONES[change.status]}>{t(`retrieval.status.${change.status}`)}</Badge>
            </td>
            <td>
              {change.document_name}
              {change.reason && <p className={styles.reason}>{reasonText(change.reason)}</p>}
            </td>
            <td>{place(change.place_then)}</td>
            <td>{place(change.place_now)}</td>
            <td>{score(change.score_then)}</td>
            <td>{score(change.score_now)}</td>
          </tr>
        ))}
      </Table>
    </Section>
  );
}
