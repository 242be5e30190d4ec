/** All knowledge bases that the account reads. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { BookOpen, FileArchive, Plus, SearchX } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { Button } from "@/components/Button";
import { Badge } from "@/components/feedback/Badge";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { EmptyState } from "@/components/feedback/Notice";
import { SearchField } from "@/components/forms/SearchField";
import { Page, Skeleton } from "@/components/layout/Page";
import { formatRelative } from "@/i18n/format";
import { CreateKnowledgeBase } from "./CreateKnowledgeBase";
import { ImportKnowledgeBase } from "./ImportKnowledgeBase";
import styles from "./KnowledgeBaseList.module.css";
import { type KnowledgeBase, knowledgeBasesQuery, useIsFilling } from "./queries";
import { type ListSearch, SCOPES, type Scope } from "./searchParams";
import { TransferList } from "./TransferList";

const route = getRouteApi("/shell/knowledge-bases");

export function KnowledgeBaseList() {
  const { t } = useTranslation(["knowledge", "common"]);
  const search = route.useSearch();
  const navigate = useNavigate();
  const mayWrite = useMay()("kb:write");
  const found = useQuery(knowledgeBasesQuery);
  const set = (part: Partial<ListSearch>) => void navigate({ to: ".", search: { ...search, ...part }, replace: true });
  return (
    <Page
      title={t("common:nav.knowledge")}
      lead={t("list.lead")}
      actions={
        mayWrite && (
          <>
            <Button icon={FileArchive} onClick={() => set({ dialog: "import" })}>
              {t("import.open")}
            </Button>
            <Button variant="primary" icon={Plus} onClick={() => set({ dialog: "create" })}>
              {t("create.open")}
            </Button>
          </>
        )
      }
    >
      {mayWrite && <TransferList />}
      {found.isPending && <Skeleton lines={6} />}
      {found.isError && <ErrorNotice error={found.error} onRetry={() => found.refetch()} />}
      {found.data && <Found bases={found.data} search={search} set={set} mayWrite={mayWrite} />}
      {mayWrite && (
        <>
          <CreateKnowledgeBase open={search.dialog === "create"} onClose={() => set({ dialog: undefined })} />
          <ImportKnowledgeBase open={search.dialog === "import"} onClose={() => set({ dialog: undefined })} />
        </>
      )}
    </Page>
  );
}

export function scopeOf({ access, is_public }: KnowledgeBase): Scope {
  return access === "owner" ? "mine" : is_public && access === "read" ? "public" : "shared";
}

function Found({
  bases,
  search,
  set,
  mayWrite,
}: {
  bases: readonly KnowledgeBase[];
  search: ListSearch;
  set: (part: Partial<ListSearch>) => void;
  mayWrite: boolean;
}) {
  const { t } = useTranslation("knowledge");
  const words = search.q?.toLowerCase() ?? "";
  const shown = bases.filter(
    (base) =>
      (!search.scope || scopeOf(base) === search.scope) &&
      `${base.name}\n${base.description}`.toLowerCase().includes(words),
  );
  if (!bases.length)
    return (
      <EmptyState
        icon={BookOpen}
        title={t("list.empty")}
        action={
          mayWrite && (
            <Button variant="primary" icon={Plus} onClick={() => set({ dialog: "create" })}>
              {t("create.open")}
            </Button>
          )
        }
      >
        {t(mayWrite ? "list.empty_hint" : "list.empty_reader")}
      </EmptyState>
    );
  return (
    <>
      <Filters search={search} set={set} />
      <ul className={styles.grid}>
        {shown.map((base) => (
          <li key={base.id}>
            <BaseCard base={base} />
          </li>
        ))}
      </ul>
      {!shown.length && (
        <EmptyState
          icon={SearchX}
          title={t("list.none")}
          action={<Button onClick={() => set({ q: undefined, scope: undefined })}>{t("list.all")}</Button>}
        />
      )}
    </>
  );
}

function Filters({ search, set }: { search: ListSearch; set: (part: Partial<ListSearch>) => void }) {
  const { t } = useTranslation("knowledge");
  return (
    <search className={styles.filters}>
      <SearchField
        label={t("list.filter")}
        hidesLabel
        value={search.q ?? ""}
        onSearch={(q) => set({ q: q || undefined })}
      />
      <select
        className={styles.input}
        aria-label={t("list.scope")}
        value={search.scope ?? ""}
        onChange={(event) => set({ scope: SCOPES.find((scope) => scope === event.target.value) })}
      >
        <option value="">{t("list.all")}</option>
        {SCOPES.map((scope) => (
          <option key={scope} value={scope}>
            {t(`scope.${scope}`)}
          </option>
        ))}
      </select>
    </search>
  );
}

function BaseCard({ base }: { base: KnowledgeBase }) {
  const { t } = useTranslation("knowledge");
  return (
    <article className={styles.card}>
      <h2 className={styles.name}>
        <Link to="/knowledge-bases/$kbId" params={{ kbId: base.id }}>
          {base.name}
        </Link>
      </h2>
      <p className={styles.description}>{base.description || t("list.no_description")}</p>
      <p className={styles.facts}>
        <span>{t("list.documents", { count: base.document_count })}</span>
        {base.access !== "owner" && base.owner_name && <span>{t("list.owner", { name: base.owner_name })}</span>}
        <span>{base.embedding_model}</span>
        <span>{t("list.changed", { when: formatRelative(base.updated_at) })}</span>
      </p>
      <p className={styles.badges}>
        <BaseBadges base={base} />
      </p>
    </article>
  );
}

/** Whose it is, and what is special about it. */
export function BaseBadges({ base }: { base: KnowledgeBase }) {
  const { t } = useTranslation("knowledge");
  const isFilling = useIsFilling(base.id, base.enabled);
  return (
    <>
      {base.access !== "owner" && scopeOf(base) === "shared" && (
        <Badge tone="accent">{t(base.can_write ? "badge.shared_write" : "badge.shared_read")}</Badge>
      )}
      {base.is_public && <Badge tone="info">{t("scope.public")}</Badge>}
      {base.access === "owner" && !base.is_public && <Badge>{t("scope.mine")}</Badge>}
      {isFilling && <Badge tone="info">{t("badge.filling")}</Badge>}
      {!base.enabled && !isFilling && <Badge tone="warning">{t("badge.disabled")}</Badge>}
      {base.reindexing && <Badge tone="info">{t("badge.reindexing")}</Badge>}
      {base.notices.some(({ code }) => code === "reindex_offered") && (
        <Badge tone="warning">{t("badge.reindex_offered")}</Badge>
      )}
    </>
  );
}
