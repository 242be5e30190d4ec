/** Settings that can be changed while the server runs. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, call } from "@/api/client";
import { Button } from "@/components/Button";
import { Badge } from "@/components/feedback/Badge";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { notify } from "@/components/feedback/toasts";
import { SelectField, TextField } from "@/components/forms/Field";
import styles from "@/components/forms/Form.module.css";
import { Item, ItemList } from "@/components/layout/ItemList";
import { Section, Skeleton } from "@/components/layout/Page";
import { formatBytes, formatRelative } from "@/i18n/format";
import { boundsOf, type RuntimeSetting, readSetting, settingText, useReadable } from "./settingValues";

const KEY = ["settings"];

export function SettingList(): ReactElement {
  const { t, i18n } = useTranslation("admin");
  const { data, error, refetch } = useQuery({
    // The server describes settings in the language of the request.
    queryKey: [...KEY, i18n.language],
    queryFn: () => call(api.GET("/api/v1/admin/system/config")),
  });
  return (
    <Section title={t("tab.settings")}>
      <p className={styles.hint}>{t("setting.hint")}</p>
      {error && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={8} />}
      {data && (
        <ItemList label={t("tab.settings")}>
          {data.items.map((setting) => (
            <SettingItem key={setting.key} setting={setting} />
          ))}
        </ItemList>
      )}
    </Section>
  );
}

function SettingItem({ setting }: { setting: RuntimeSetting }) {
  const { t } = useTranslation(["admin", "common"]);
  const [edits, setEdits] = useState(false);
  const readable = useReadable(setting);
  const [least, most] = boundsOf(setting).map((bound) => (bound === null ? null : readable(bound)));
  return (
    <Item
      title={setting.description}
      badges={
        <Badge tone={setting.source === "stored" ? "accent" : "neutral"}>{t(`setting.source.${setting.source}`)}</Badge>
      }
      facts={[
        [t("setting.value"), readable(setting.value)],
        [t("setting.default"), readable(setting.default)],
        [t("setting.bounds"), least && most ? t("setting.between", { least, most }) : null],
        [t("setting.variable"), <code key="variable">{setting.variable}</code>],
        [
          t("setting.changed"),
          setting.updated_at &&
            t("setting.changed_by", { when: formatRelative(setting.updated_at), who: setting.updated_by }),
        ],
      ]}
      actions={
        !edits && (
          <Button size="s" onClick={() => setEdits(true)} aria-label={t("setting.edit", { name: setting.description })}>
            {t("common:action.edit")}
          </Button>
        )
      }
    >
      {edits && <SettingForm setting={setting} onClose={() => setEdits(false)} />}
    </Item>
  );
}

function SettingForm({ setting, onClose }: { setting: RuntimeSetting; onClose: () => void }) {
  const { t } = useTranslation(["admin", "common"]);
  const [text, setText] = useState(settingText(setting.value));
  const queries = useQueryClient();
  const params = { path: { key: setting.key } };
  const done = async () => {
    notify(t("common:state.saved"));
    await queries.invalidateQueries({ queryKey: KEY });
    onClose();
  };
  const save = useMutation({
    mutationFn: () =>
      call(api.PUT("/api/v1/admin/system/config/{key}", { params, body: { value: readSetting(setting.type, text) } })),
    onSuccess: done,
  });
  const reset = useMutation({
    mutationFn: () => call(api.DELETE("/api/v1/admin/system/config/{key}", { params })),
    onSuccess: done,
  });
  const error = save.error ?? reset.error;
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <SettingInput setting={setting} text={text} onChange={setText} />
      {error && <ErrorNotice error={error} />}
      <div className={styles.filters}>
        <Button type="submit" variant="primary" busy={save.isPending} disabled={text === settingText(setting.value)}>
          {t("common:action.save")}
        </Button>
        {setting.source === "stored" && (
          <Button busy={reset.isPending} onClick={() => reset.mutate()}>
            {t("setting.reset")}
          </Button>
        )}
        <Button variant="ghost" onClick={onClose}>
          {t("common:action.cancel")}
        </Button>
      </div>
    </form>
  );
}

function SettingInput({
  setting,
  text,
  onChange,
}: {
  setting: RuntimeSetting;
  text: string;
  onChange: (text: string) => void;
}) {
  const { t } = useTranslation("admin");
  if (setting.type === "boolean")
    return (
      <SelectField
        label={t("setting.value")}
        value={text}
        options={(["true", "false"] as const).map((value) => ({ value, label: t(`setting.${value}`) }))}
        onChange={(event) => onChange(event.target.value)}
      />
    );
  const isNumber = setting.type === "integer" || setting.type === "number";
  const size = setting.key.endsWith("_bytes") && Number(text) > 0 ? formatBytes(Number(text)) : null;
  return (
    <TextField
      label={t("setting.value")}
      hint={setting.type === "targets" ? t("setting.targets_hint") : size ? t("setting.as_size", { size }) : undefined}
      type={isNumber ? "number" : "text"}
      step={setting.type === "integer" ? 1 : "any"}
      min={isNumber ? (setting.minimum ?? undefined) : undefined}
      max={isNumber ? (setting.maximum ?? undefined) : undefined}
      value={text}
      onChange={(event) => onChange(event.target.value)}
      required={isNumber}
    />
  );
}
