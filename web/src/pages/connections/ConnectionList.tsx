/** One's connections to MCP servers, whose tools agents may use. */

import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Plug, Plus } from "lucide-react";
import { type ReactElement, useRef } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { EmptyState } from "@/components/feedback/Notice";
import { Item, ItemList } from "@/components/layout/ItemList";
import { Page, Skeleton } from "@/components/layout/Page";
import { formatNumber, formatRelative } from "@/i18n/format";
import { ConnectionForm } from "./ConnectionForm";
import { ConnectionBadges, useFault } from "./ConnectionStatus";
import { connectionsQuery, type McpConnection } from "./connectionQueries";

const route = getRouteApi("/shell/connections");
/** New connections are looked at beside; their state comes a moment later. */
const PAUSE_MS = 10_000;

export function ConnectionList(): ReactElement {
  const { t } = useTranslation(["connections", "common"]);
  const { add } = route.useSearch();
  const navigate = route.useNavigate();
  const creates = useMay()("mcp:create");
  const { data, error, refetch } = useQuery({ ...connectionsQuery, refetchInterval: PAUSE_MS });
  const showForm = (isShown: boolean) =>
    void navigate({ to: "/connections", search: { add: isShown || undefined }, replace: !isShown });
  const saved = useRef<string | null>(null);
  // The dialog closes after it saved, too: then its connection opens.
  function close() {
    if (saved.current === null) return showForm(false);
    void navigate({ to: "/connections/$connectionId", params: { connectionId: saved.current }, replace: true });
    saved.current = null;
  }
  const button = creates && (
    <Button variant="primary" icon={Plus} onClick={() => showForm(true)}>
      {t("mcp.add")}
    </Button>
  );
  return (
    <Page title={t("common:nav.connections")} lead={t("mcp.lead")} actions={data?.items.length ? button : undefined}>
      {error && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={5} />}
      {data?.items.length === 0 && (
        <EmptyState icon={Plug} title={t("mcp.none")} action={button}>
          {t(creates ? "mcp.none_text" : "mcp.none_ask")}
        </EmptyState>
      )}
      {data && data.items.length > 0 && (
        <ItemList label={t("common:nav.connections")}>
          {data.items.map((connection) => (
            <ConnectionItem key={connection.id} connection={connection} />
          ))}
        </ItemList>
      )}
      {add && creates && (
        <ConnectionForm
          connection={null}
          onSaved={({ id }) => {
            saved.current = id;
          }}
          onClose={close}
        />
      )}
    </Page>
  );
}

function ConnectionItem({ connection }: { connection: McpConnection }) {
  const { t } = useTranslation("connections");
  const fault = useFault();
  return (
    <Item
      title={
        <Link to="/connections/$connectionId" params={{ connectionId: connection.id }}>
          {connection.name}
        </Link>
      }
      badges={<ConnectionBadges connection={connection} />}
      text={connection.fault && <p>{fault(connection.fault)}</p>}
      facts={[
        [t("mcp.url"), connection.url],
        [t("mcp.tools"), formatNumber(connection.tool_count)],
        [t("mcp.checked"), connection.checked_at && formatRelative(connection.checked_at)],
      ]}
    />
  );
}
