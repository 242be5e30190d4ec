/** A choice among the language models that the person may use. */
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api, call } from "@/api/client";
import { SelectField } from "@/components/forms/Field";

export function ModelSelect({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange: (id: string) => void;
}) {
  const { t } = useTranslation(["skills", "common"]);
  const { data } = useQuery({ queryKey: ["models"], queryFn: () => call(api.GET("/api/v1/models")) });
  const models = (data?.items ?? []).filter((model) => model.type === "chat" && model.enabled);
  return (
    <SelectField
      label={label}
      value={models.some((model) => model.id === value) ? value : ""}
      options={[
        { value: "", label: t("tests.default_model") },
        ...models.map((model) => ({ value: model.id, label: model.name })),
      ]}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
