/** What the tools of agents may do without asking. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, callEmpty } from "@/api/client";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import styles from "@/components/forms/Form.module.css";
import { Section, Skeleton, Table } from "@/components/layout/Page";
import { ConfirmDialog } from "@/components/overlays/Dialog";
import { toolName } from "@/pages/chat/message/toolNames";
import { PolicySelect } from "@/pages/connections/PolicySelect";
import { policiesQuery } from "@/pages/connections/toolPolicies";

export function ToolPolicies() {
  const { t } = useTranslation("profile");
  const [asks, setAsks] = useState(false);
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery(policiesQuery);
  const reset = useMutation({
    mutationFn: () => callEmpty(api.DELETE("/api/v1/users/me/tool-policies")),
    onSuccess: () => queries.invalidateQueries({ queryKey: policiesQuery.queryKey }),
  });
  const hasOwn = data?.items.some(({ own }) => own !== null);
  return (
    <Section
      title={t("policy.title")}
      actions={hasOwn && <Button onClick={() => setAsks(true)}>{t("policy.reset")}</Button>}
    >
      <p className={styles.hint}>{t("policy.hint")}</p>
      {error && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={6} />}
      {data && (
        <Table
          label={t("policy.title")}
          head={
            <>
              <th>{t("policy.tool")}</th>
              <th>{t("policy.policy")}</th>
            </>
          }
        >
          {data.items.map((policy) => (
            <tr key={policy.tool}>
              <td>
                <ToolName tool={policy.tool} />
              </td>
              <td>
                <PolicySelect policy={policy} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      <ConfirmDialog
        open={asks}
        onClose={() => setAsks(false)}
        title={t("policy.reset_title")}
        description={t("policy.reset_text")}
        action={t("policy.reset")}
        onConfirm={() => reset.mutateAsync()}
      />
    </Section>
  );
}

/** What a tool does, and the name by which models call it. */
function ToolName({ tool }: { tool: string }) {
  const { t } = useTranslation("chat");
  const known = toolName(tool);
  return (
    <>
      <p>{"key" in known ? t(known.key) : known.name}</p>
      <code className={styles.hint}>{tool}</code>
    </>
  );
}
