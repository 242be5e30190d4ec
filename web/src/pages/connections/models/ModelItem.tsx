/** A model in the list: what it can do, what it costs, and whether it answers. */
import { MoreHorizontal, Pencil, Power, Star, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, callEmpty } from "@/api/client";
import { OFFLINE_PROVIDER } from "@/api/models";
import { Button, IconButton } from "@/components/Button";
import { Badge } from "@/components/feedback/Badge";
import { notify, useErrorToast } from "@/components/feedback/toasts";
import { type Fact, Item } from "@/components/layout/ItemList";
import { ConfirmDialog } from "@/components/overlays/Dialog";
import { Menu } from "@/components/overlays/Menu";
import { currentLanguage } from "@/i18n";
import { formatDateTime, formatNumber } from "@/i18n/format";
import { TestOutcome, useModelTest } from "./ModelTest";
import type { Provider } from "./modelDraft";
import { type Model, type RegisteredModel, useChangeModel, useInvalidateModels } from "./modelQueries";

interface Props {
  model: Model;
  /** The same model as who manages models sees it. */
  registered?: RegisteredModel | undefined;
  onEdit?: (() => void) | undefined;
}

export function ModelItem({ model, registered, onEdit }: Props) {
  const { t } = useTranslation("connections");
  const test = useModelTest();
  const facts = useFacts(model, registered);
  const isOffline = model.provider === OFFLINE_PROVIDER;
  return (
    <Item
      title={model.name}
      badges={<States model={model} />}
      text={isOffline && <p>{t("model.offline_text")}</p>}
      facts={facts}
      actions={
        <>
          <Button size="s" busy={test.isPending} onClick={() => test.mutate(model.id)}>
            {t("test.action")}
          </Button>
          {registered && onEdit && <ModelMenu model={registered} onEdit={onEdit} />}
        </>
      }
    >
      {!test.isIdle && <TestOutcome test={test} />}
    </Item>
  );
}

function States({ model }: { model: Model }) {
  const { t } = useTranslation("connections");
  return (
    <>
      {model.is_default && <Badge tone="accent">{t("model.default")}</Badge>}
      {!model.enabled && <Badge tone="warning">{t("model.off")}</Badge>}
      {model.built_in && <Badge>{t("model.built_in")}</Badge>}
      {model.type === "chat" && model.tools && <Badge tone="info">{t("model.has_tools")}</Badge>}
      {model.vision && <Badge tone="info">{t("model.has_vision")}</Badge>}
      {model.tools_refused_until && (
        <Badge tone="warning" title={formatDateTime(model.tools_refused_until)}>
          {t("model.tools_refused")}
        </Badge>
      )}
    </>
  );
}

function useFacts(model: Model, registered: RegisteredModel | undefined): Fact[] {
  const { t } = useTranslation("connections");
  const languages = useLanguages(model.languages ?? null);
  const price = (value: number | null | undefined) =>
    value == null ? null : t("model.per_million", { price: formatNumber(value) });
  const providers = ["agentex", "built-in", "endpoint", "sentence_transformers"] as const;
  const provider = providers.find((name) => name === model.provider);
  const isLimited = registered && (registered.role_access !== null || registered.user_access !== null);
  return [
    [t("model.provider"), provider ? t(`source.${provider}`) : t(`provider.${model.provider as Provider}`)],
    [t("model.model_id"), model.model_id === model.name ? null : model.model_id],
    [
      t("model.context"),
      model.context_window &&
        t("model.tokens", { count: model.context_window, number: formatNumber(model.context_window) }),
    ],
    [t("model.dimension"), model.dimension && formatNumber(model.dimension)],
    [t("model.languages"), languages],
    [t("model.input_price_short"), price(model.input_price)],
    [t("model.output_price_short"), price(model.output_price)],
    [t("model.base_url"), registered?.base_url],
    [t("model.access"), registered && t(isLimited ? "model.access_some" : "model.access_all")],
  ];
}

const MOST_LANGUAGES = 6;

function useLanguages(codes: string[] | null): string | null {
  const { t } = useTranslation("connections");
  if (!codes) return null;
  const isChinese = currentLanguage() === "zh";
  const names = new Intl.DisplayNames(isChinese ? "zh-CN" : "en", { type: "language" });
  const comma = isChinese ? "、" : ", ";
  if (codes.length <= MOST_LANGUAGES) return codes.map((code) => names.of(code) ?? code).join(comma);
  const first = ["en", "zh"].filter((code) => codes.includes(code)).map((code) => names.of(code) ?? code);
  return t("model.and_more", { names: first.join(comma), count: codes.length - first.length });
}

function ModelMenu({ model, onEdit }: { model: RegisteredModel; onEdit: () => void }) {
  const { t } = useTranslation(["connections", "common"]);
  const [asks, setAsks] = useState(false);
  const change = useChangeModel();
  const invalidate = useInvalidateModels();
  const fail = useErrorToast();
  const set = (fields: { is_default?: boolean; enabled?: boolean }) =>
    change.mutate({ id: model.id, ...fields }, { onSuccess: () => notify(t("common:state.saved")), onError: fail });
  async function remove() {
    await callEmpty(api.DELETE("/api/v1/admin/models/{model_id}", { params: { path: { model_id: model.id } } }));
    notify(t("model.deleted", { name: model.name }));
    await invalidate();
  }
  return (
    <>
      <Menu
        trigger={<IconButton icon={MoreHorizontal} size="s" label={t("model.actions", { name: model.name })} />}
        entries={[
          { label: t("common:action.edit"), icon: Pencil, onSelect: onEdit },
          ...(model.enabled && !model.is_default
            ? [{ label: t("model.make_default"), icon: Star, onSelect: () => set({ is_default: true }) }]
            : []),
          {
            label: t(model.enabled ? "model.switch_off" : "model.switch_on"),
            icon: Power,
            onSelect: () => set({ enabled: !model.enabled }),
          },
          { label: t("common:action.delete"), icon: Trash2, danger: true, onSelect: () => setAsks(true) },
        ]}
      />
      <ConfirmDialog
        open={asks}
        onClose={() => setAsks(false)}
        title={t("model.delete_title", { name: model.name })}
        description={t("model.delete_text")}
        action={t("common:action.delete")}
        onConfirm={remove}
      />
    </>
  );
}
