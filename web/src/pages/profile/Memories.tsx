/** What agents may remember about one, and what they do. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Pencil, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { api, call, callEmpty, type Schemas } from "@/api/client";
import { Button, IconButton } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { notify } from "@/components/feedback/toasts";
import { SwitchField } from "@/components/forms/Field";
import styles from "@/components/forms/Form.module.css";
import { SearchField } from "@/components/forms/SearchField";
import { Item, ItemList } from "@/components/layout/ItemList";
import { Card, Section, Skeleton } from "@/components/layout/Page";
import { Pager } from "@/components/layout/Pager";
import { ConfirmDialog } from "@/components/overlays/Dialog";
import { formatRelative } from "@/i18n/format";
import { MemoryForm } from "./MemoryForm";
import { useChangeAccount } from "./useChangeAccount";

const route = getRouteApi("/shell/profile");
type Memory = Schemas["MemoryAnswer"];

export function Memories({ account }: { account: Schemas["AccountAnswer"] }) {
  const { t } = useTranslation("profile");
  const change = useChangeAccount();
  return (
    <Section title={t("memory.title")}>
      <Card>
        <div className={styles.form}>
          {change.isError && <ErrorNotice error={change.error} />}
          <SwitchField
            label={t("memory.use")}
            hint={t("memory.use_hint")}
            checked={account.use_memories}
            disabled={change.isPending}
            onChange={(use_memories) => change.mutate({ use_memories })}
          />
          <SwitchField
            label={t("memory.after_runs")}
            hint={t("memory.after_runs_hint")}
            checked={account.remember_after_runs}
            disabled={change.isPending || !account.use_memories}
            onChange={(remember_after_runs) => change.mutate({ remember_after_runs })}
          />
        </div>
      </Card>
      <MemoryList />
    </Section>
  );
}

function MemoryList() {
  const { t } = useTranslation(["profile", "common"]);
  const current = route.useSearch();
  const { memory: q = "", page = 1 } = current;
  const navigate = route.useNavigate();
  const writes = useMay()("memory:write");
  const [form, setForm] = useState<Memory | "new" | null>(null);
  const [forgets, setForgets] = useState(false);
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery({
    queryKey: ["memories", q, page],
    queryFn: () => call(api.GET("/api/v1/memories", { params: { query: { q, page } } })),
    placeholderData: (before) => before,
  });
  const search = (part: { memory?: string | undefined; page?: number | undefined }) =>
    void navigate({ to: "/profile", search: { ...current, ...part }, replace: true, resetScroll: false });
  async function forgetAll() {
    const { deleted } = await call(api.DELETE("/api/v1/memories"));
    notify(t("memory.forgotten", { count: deleted }));
    await queries.invalidateQueries({ queryKey: ["memories"] });
  }
  return (
    <>
      <div className={styles.filters}>
        <SearchField
          label={t("memory.search")}
          value={q}
          onSearch={(text) => search({ memory: text || undefined, page: undefined })}
        />
        {writes && (
          <Button icon={Plus} onClick={() => setForm("new")}>
            {t("memory.add")}
          </Button>
        )}
        {writes && (data?.total ?? 0) > 0 && !q && (
          <Button variant="ghost" icon={Trash2} onClick={() => setForgets(true)}>
            {t("memory.forget_all")}
          </Button>
        )}
      </div>
      {error && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={3} />}
      {data?.items.length === 0 && <p className={styles.hint}>{t(q ? "memory.nothing_found" : "memory.none")}</p>}
      {data && data.items.length > 0 && (
        <ItemList label={t("memory.list")}>
          {data.items.map((memory) => (
            <MemoryItem key={memory.id} memory={memory} onEdit={() => setForm(memory)} />
          ))}
        </ItemList>
      )}
      {data && <Pager page={page} pages={data.pages} onPage={(next) => search({ page: next })} />}
      {form && <MemoryForm memory={form === "new" ? null : form} onClose={() => setForm(null)} />}
      <ConfirmDialog
        open={forgets}
        onClose={() => setForgets(false)}
        title={t("memory.forget_all_title")}
        description={t("memory.forget_all_text")}
        action={t("memory.forget_all")}
        onConfirm={forgetAll}
      />
    </>
  );
}

function MemoryItem({ memory, onEdit }: { memory: Memory; onEdit: () => void }) {
  const { t } = useTranslation(["profile", "common"]);
  const queries = useQueryClient();
  const writes = useMay()("memory:write");
  const [asks, setAsks] = useState(false);
  async function remove() {
    await callEmpty(api.DELETE("/api/v1/memories/{memory_id}", { params: { path: { memory_id: memory.id } } }));
    await queries.invalidateQueries({ queryKey: ["memories"] });
  }
  return (
    <Item
      title={<span>{memory.text}</span>}
      facts={[
        [t("memory.source"), t(`memory.source_${memory.source}`)],
        [t("memory.changed"), formatRelative(memory.updated_at)],
      ]}
      actions={
        writes && (
          <>
            <IconButton icon={Pencil} size="s" label={t("common:action.edit")} onClick={onEdit} />
            <IconButton icon={Trash2} size="s" label={t("common:action.delete")} onClick={() => setAsks(true)} />
          </>
        )
      }
    >
      <ConfirmDialog
        open={asks}
        onClose={() => setAsks(false)}
        title={t("memory.delete_title")}
        description={memory.text}
        action={t("common:action.delete")}
        onConfirm={remove}
      />
    </Item>
  );
}
