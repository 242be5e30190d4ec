/** What is posted, and where to. */
import { useTranslation } from "react-i18next";
import { TextField } from "@/components/forms/Field";
import { JsonField } from "../JsonField";
import type { ActionFieldsProps } from "./fields";

const EXAMPLE_ADDRESS = "https://chat.example.com/hook";

export function WebhookFields({ action, template, onChange }: ActionFieldsProps<"webhook">) {
  const { t } = useTranslation("rules");
  const { params } = action;
  const change = (part: Partial<NonNullable<typeof params>>) =>
    onChange({ ...action, params: { ...params, headers: params?.headers ?? {}, ...part } });
  return (
    <>
      <TextField
        label={t("then.address")}
        type="url"
        placeholder={EXAMPLE_ADDRESS}
        value={action.target}
        maxLength={2_000}
        spellCheck={false}
        onChange={({ target }) => onChange({ ...action, target: target.value })}
        required
      />
      <JsonField
        label={t("then.body")}
        hint={t("then.template_hint", { example: template })}
        value={params?.body}
        onChange={(body) => change({ body })}
      />
      <JsonField
        label={t("then.headers")}
        value={params?.headers ?? {}}
        object
        onChange={(headers) => change({ headers })}
      />
    </>
  );
}
