/** The settings of one knowledge base; who may only read sees what they are. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { Section, Skeleton } from "@/components/layout/Page";
import { formatDateTime } from "@/i18n/format";
import { type KnowledgeBase, knowledgeBaseQuery, reindexQuery } from "../queries";
import { GeneralSettings } from "./GeneralSettings";
import { ParserSettings } from "./ParserSettings";
import { splitterKey, splittingOf } from "./presets";
import { ReindexStatus } from "./ReindexStatus";
import { RetrievalSettings } from "./RetrievalSettings";
import styles from "./Settings.module.css";
import { ShareSettings } from "./ShareSettings";
import { SplittingSettings } from "./SplittingSettings";
import { UpkeepSettings } from "./UpkeepSettings";

const route = getRouteApi("/shell/knowledge-bases/$kbId/settings");

export function KnowledgeBaseSettings() {
  const { kbId } = route.useParams();
  const base = useQuery(knowledgeBaseQuery(kbId)).data;
  const reindex = useQuery(reindexQuery(kbId)).data;
  const mayWrite = useMay()("kb:write") && (base?.can_write ?? false);
  if (!base) return <Skeleton lines={6} />;
  const isOwner = mayWrite && base.access === "owner";
  return (
    <div className={styles.settings}>
      {mayWrite ? <GeneralSettings key={base.id} base={base} isOwner={isOwner} /> : <Facts base={base} />}
      {mayWrite && (
        <>
          {reindex && <ReindexStatus kbId={kbId} reindex={reindex} />}
          <SplittingSettings key={`${base.id} ${base.generation}`} base={base} reindex={reindex} />
          <ParserSettings base={base} />
          <RetrievalSettings key={JSON.stringify(base.retrieval)} base={base} />
        </>
      )}
      {isOwner && <ShareSettings kbId={kbId} isPublic={base.is_public} />}
      <UpkeepSettings base={base} isOwner={isOwner} />
    </div>
  );
}

function Facts({ base }: { base: KnowledgeBase }) {
  const { t } = useTranslation("knowledge");
  const { splitter, chunk_size, chunk_overlap } = splittingOf(base);
  const facts = [
    [t("field.embedding_model"), base.embedding_model],
    [t("field.splitter"), t(`splitter.${splitterKey(splitter)}.title`)],
    [t("field.chunk_size"), String(chunk_size)],
    [t("field.chunk_overlap"), String(chunk_overlap)],
    [t("settings.created"), formatDateTime(base.created_at)],
  ];
  return (
    <Section title={t("tab.about")}>
      <dl className={styles.facts}>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}
