/** The language and embedding models, whether they answer, and what was spent on them. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { type ReactElement, useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { chatModelsQuery, embeddingModelsQuery, OFFLINE_PROVIDER } from "@/api/models";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Notice } from "@/components/feedback/Notice";
import styles from "@/components/forms/Form.module.css";
import { ItemList } from "@/components/layout/ItemList";
import { Page, Section, Skeleton } from "@/components/layout/Page";
import { ModelForm } from "./ModelForm";
import { ModelItem } from "./ModelItem";
import { ModelUsage } from "./ModelUsage";
import { type RegisteredModel, registeredModelsQuery } from "./modelQueries";

const route = getRouteApi("/shell/models");

export function ModelList(): ReactElement {
  const { t } = useTranslation(["connections", "common"]);
  const search = route.useSearch();
  const { add } = search;
  const navigate = route.useNavigate();
  const manages = useMay()("models:manage");
  const [edited, setEdited] = useState<RegisteredModel | null>(null);
  const usable = useQuery(chatModelsQuery);
  const showForm = (isShown: boolean) =>
    void navigate({ to: "/models", search: { ...search, add: isShown || undefined }, replace: !isShown });
  const onlyOffline = usable.data?.every(({ provider }) => provider === OFFLINE_PROVIDER) ?? false;
  const button = manages && (
    <Button variant="primary" icon={Plus} onClick={() => showForm(true)}>
      {t("model.add")}
    </Button>
  );
  return (
    <Page title={t("common:nav.models")} lead={t("model.lead")} actions={button}>
      {onlyOffline && <Notice tone="warning">{t(manages ? "model.none" : "model.none_ask")}</Notice>}
      <Section title={t("model.chat")}>
        <ChatModels onEdit={setEdited} />
      </Section>
      <Section title={t("model.embedding")}>
        <EmbeddingModels />
      </Section>
      <ModelUsage />
      {manages && add && usable.data && (
        <ModelForm model={null} isFirst={onlyOffline} onClose={() => showForm(false)} />
      )}
      {edited && <ModelForm key={edited.id} model={edited} isFirst={false} onClose={() => setEdited(null)} />}
    </Page>
  );
}

function ChatModels({ onEdit }: { onEdit: (model: RegisteredModel) => void }) {
  const { t } = useTranslation("connections");
  const manages = useMay()("models:manage");
  const usable = useQuery(chatModelsQuery);
  const registered = useQuery({ ...registeredModelsQuery, enabled: manages });
  const failed = usable.error ?? registered.error;
  if (failed)
    return <ErrorNotice error={failed} onRetry={() => void Promise.all([usable.refetch(), registered.refetch()])} />;
  if (!usable.data || (manages && !registered.data)) return <Skeleton lines={4} />;
  const all = new Map((registered.data ?? []).map((model) => [model.id, model]));
  const shown = [...usable.data, ...[...all.values()].filter(({ id }) => !usable.data.some((each) => each.id === id))];
  return (
    <ItemList label={t("model.chat")}>
      {shown.map((model) => {
        const row = all.get(model.id);
        return <ModelItem key={model.id} model={model} registered={row} onEdit={row && (() => onEdit(row))} />;
      })}
    </ItemList>
  );
}

function EmbeddingModels() {
  const { t } = useTranslation("connections");
  const { data, error, refetch } = useQuery(embeddingModelsQuery);
  if (error) return <ErrorNotice error={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton lines={3} />;
  return (
    <>
      <ItemList label={t("model.embedding")}>
        {data.map((model) => (
          <ModelItem key={model.id} model={model} />
        ))}
      </ItemList>
      <p className={styles.hint}>{t("model.embedding_hint")}</p>
    </>
  );
}
