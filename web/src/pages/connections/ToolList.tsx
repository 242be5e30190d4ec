/** The tools of an MCP server: what they take, what they may do, and a form that tries them. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { Button } from "@/components/Button";
import { Badge } from "@/components/feedback/Badge";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Notice } from "@/components/feedback/Notice";
import styles from "@/components/forms/Form.module.css";
import { Item, ItemList } from "@/components/layout/ItemList";
import { Section, Skeleton } from "@/components/layout/Page";
import { plainText } from "@/components/plainText";
import { currentLanguage } from "@/i18n";
import { formatDateTime } from "@/i18n/format";
import { type McpConnection, type McpTool, toolsQuery } from "./connectionQueries";
import { PolicySelect } from "./PolicySelect";
import { ToolTrial } from "./ToolTrial";
import { policiesQuery } from "./toolPolicies";

const route = getRouteApi("/shell/connections/$connectionId");

export function ToolList({ connection }: { connection: McpConnection }) {
  const { t } = useTranslation("connections");
  const { data, error, refetch } = useQuery(toolsQuery(connection.id));
  return (
    <Section title={t("mcp.tools")}>
      {error && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={5} />}
      {data?.is_stale && (
        <Notice tone="warning">
          {t("mcp.stale", { time: data.listed_at ? formatDateTime(data.listed_at) : t("mcp.never") })}
        </Notice>
      )}
      {data?.items.length === 0 && <p className={styles.hint}>{t("mcp.no_tools")}</p>}
      {data && data.items.length > 0 && (
        <ItemList label={t("mcp.tools")}>
          {data.items.map((tool) => (
            <ToolItem key={tool.name} tool={tool} connectionId={connection.id} />
          ))}
        </ItemList>
      )}
      {data && data.left_out.length > 0 && (
        <Notice tone="warning">
          <p>{t("mcp.left_out")}</p>
          <ul>
            {data.left_out.map(({ name, reason, reason_zh }) => (
              <li key={name}>
                <code>{plainText(name)}</code> {currentLanguage() === "zh" ? reason_zh : reason}
              </li>
            ))}
          </ul>
        </Notice>
      )}
    </Section>
  );
}

function ToolItem({ tool, connectionId }: { tool: McpTool; connectionId: string }) {
  const { t } = useTranslation("connections");
  const { tool: chosen } = route.useSearch();
  const navigate = route.useNavigate();
  const calls = useMay()("agent:run");
  const policies = useQuery(policiesQuery);
  const policy = policies.data?.items.find((each) => each.tool === tool.call_name);
  const isOpen = chosen === tool.name;
  const toggle = () =>
    void navigate({
      to: "/connections/$connectionId",
      params: { connectionId },
      search: { tool: isOpen ? undefined : tool.name },
      replace: true,
      resetScroll: false,
    });
  const fault = currentLanguage() === "zh" ? tool.schema_fault_zh : tool.schema_fault;
  return (
    <Item
      title={<code>{plainText(tool.name)}</code>}
      badges={
        <>
          {tool.read_only && <Badge tone="success">{t("mcp.read_only")}</Badge>}
          {fault && <Badge tone="warning">{t("mcp.not_offered")}</Badge>}
        </>
      }
      text={
        <>
          {tool.description && <p className={styles.lines}>{plainText(tool.description)}</p>}
          {fault && <p className={styles.hint}>{fault}</p>}
        </>
      }
      actions={
        <>
          {policy && <PolicySelect policy={policy} />}
          <Button aria-expanded={isOpen} onClick={toggle}>
            {t(calls ? "mcp.try" : "mcp.schema")}
          </Button>
        </>
      }
    >
      {isOpen && (
        <>
          {calls && <ToolTrial connectionId={connectionId} tool={tool} />}
          <details>
            <summary>{t("mcp.schema")}</summary>
            <pre className={styles.code}>{plainText(JSON.stringify(tool.input_schema, null, 2))}</pre>
          </details>
        </>
      )}
    </Item>
  );
}
