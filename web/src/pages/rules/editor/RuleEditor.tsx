/** A stored rule to be looked at, changed and tried. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { ApiError } from "@/api/errors";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Notice } from "@/components/feedback/Notice";
import { notify } from "@/components/feedback/toasts";
import { useDraft } from "@/components/forms/useDraft";
import { changeRule, type Rule, ruleQuery, useInvalidateRules, useRuleId } from "../ruleQueries";
import type { EditorSearch } from "../searchParams";
import { type Definition, definitionOf } from "./definition";
import { RuleWorkbench } from "./RuleWorkbench";
import styles from "./RuleWorkbench.module.css";
import { ruleText } from "./structure";

const route = getRouteApi("/shell/rules/$ruleId/");
/** Somebody else saved the rule meanwhile. */
const CONFLICT = 40901;

export function RuleEditor() {
  const { data: rule } = useQuery(ruleQuery(useRuleId()));
  // The frame shows what is wrong, and waits for the rule.
  return rule ? <LoadedRule key={rule.id} rule={rule} /> : null;
}

interface Draft {
  /** Empty while nothing was changed. */
  text: string;
  /** The version that the change began with. */
  version: number;
}

const NO_DRAFT: Draft = { text: "", version: 0 };

function LoadedRule({ rule }: { rule: Rule }) {
  const { t } = useTranslation("rules");
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const isOwn = rule.access === "owner";
  const mayWrite = useMay()("rule:write") && isOwn;
  const { draft, change, forget } = useDraft(`rule.${rule.id}`, NO_DRAFT);
  const stored = ruleText(definitionOf(rule));
  const isDirty = draft.text !== "" && draft.text !== stored;
  const save = useSaveRule(rule, draft.version || rule.version, reset);
  function reset() {
    change(NO_DRAFT);
    forget();
  }
  const onSearch = (part: Partial<EditorSearch>) =>
    void navigate({ search: { ...search, ...part }, replace: true, resetScroll: false });
  return (
    <RuleWorkbench
      text={draft.text || stored}
      onChange={(text) => change({ text, version: draft.version || rule.version })}
      search={search}
      onSearch={onSearch}
      ruleId={rule.id}
      isOwn={isOwn}
      isReadOnly={!mayWrite}
      onSave={(definition) => save.mutate(definition)}
    >
      {(definition) => (
        <div className={styles.ending}>
          {isOwn && !mayWrite && <Notice>{t("form.read_only")}</Notice>}
          {save.isError && <SaveError error={save.error} />}
          {mayWrite && (
            <div className={styles.buttons}>
              <Button type="submit" variant="primary" busy={save.isPending} disabled={!definition || !isDirty}>
                {t("form.save")}
              </Button>
              {isDirty && (
                <Button
                  onClick={() => {
                    save.reset();
                    reset();
                  }}
                >
                  {t("form.discard")}
                </Button>
              )}
            </div>
          )}
        </div>
      )}
    </RuleWorkbench>
  );
}

function SaveError({ error }: { error: unknown }) {
  const { t } = useTranslation("rules");
  if (error instanceof ApiError && error.code === CONFLICT) return <Notice tone="warning">{t("form.conflict")}</Notice>;
  return <ErrorNotice error={error} />;
}

function useSaveRule(rule: Rule, version: number, onSaved: () => void) {
  const { t } = useTranslation("rules");
  const queries = useQueryClient();
  const invalidate = useInvalidateRules();
  return useMutation({
    mutationFn: (definition: Definition) => changeRule(rule.id, definition, version),
    onSuccess: async (saved) => {
      queries.setQueryData(ruleQuery(rule.id).queryKey, saved);
      onSaved();
      notify(t("form.saved", { version: saved.version }));
      await invalidate();
    },
    // What is stored now is what "discard" goes back to.
    onError: () => invalidate(),
  });
}
