/** A rule that is not stored yet; it begins empty or with an example. */
import { useMutation } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { notify } from "@/components/feedback/toasts";
import { SelectField } from "@/components/forms/Field";
import { useDraft } from "@/components/forms/useDraft";
import { Page } from "@/components/layout/Page";
import { currentLanguage } from "@/i18n";
import { createRule, useInvalidateRules } from "../ruleQueries";
import type { EditorSearch } from "../searchParams";
import { type Definition, NEW_DEFINITION } from "./definition";
import { EXAMPLE_NAMES, exampleOf } from "./examples";
import { RuleWorkbench } from "./RuleWorkbench";
import styles from "./RuleWorkbench.module.css";
import { ruleText } from "./structure";

const route = getRouteApi("/shell/rules/new");

export function NewRule() {
  const { t } = useTranslation("rules");
  const search = route.useSearch();
  const navigate = useNavigate();
  const invalidate = useInvalidateRules();
  const begun = exampleOf(search.example, currentLanguage()) ?? NEW_DEFINITION;
  const { draft, change, forget } = useDraft("rule.new", { text: "" });
  const create = useMutation({
    mutationFn: (definition: Definition) => createRule(definition),
    onSuccess: async ({ id }) => {
      forget();
      notify(t("form.created"));
      await invalidate();
      await navigate({ to: "/rules/$ruleId", params: { ruleId: id }, replace: true });
    },
  });
  const onSearch = (part: Partial<EditorSearch>) =>
    void navigate({ to: "/rules/new", search: { ...search, ...part }, replace: true, resetScroll: false });
  return (
    <Page
      wide
      title={t("new")}
      actions={
        <SelectField
          label={t("example.label")}
          value={search.example ?? ""}
          options={[
            { value: "", label: t("example.blank") },
            ...EXAMPLE_NAMES.map((value) => ({ value, label: t(`example.${value}`) })),
          ]}
          onChange={({ target }) => {
            change({ text: "" });
            create.reset();
            onSearch({ example: target.value || undefined });
          }}
        />
      }
    >
      <RuleWorkbench
        // Another example is another form.
        key={search.example}
        text={draft.text || ruleText(begun)}
        onChange={(text) => change({ text })}
        search={search}
        onSearch={onSearch}
        onSave={(definition) => create.mutate(definition)}
      >
        {(definition) => (
          <div className={styles.ending}>
            {create.isError && <ErrorNotice error={create.error} />}
            <div className={styles.buttons}>
              <Button type="submit" variant="primary" busy={create.isPending} disabled={!definition}>
                {t("form.create")}
              </Button>
            </div>
          </div>
        )}
      </RuleWorkbench>
    </Page>
  );
}
