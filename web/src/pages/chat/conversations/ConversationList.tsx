/** One's own conversations: find, open, rename, archive, export, delete. */
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Archive, Plus, Search } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { Button, IconButton, LinkButton } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Skeleton } from "@/components/layout/Page";
import { formatRelative } from "@/i18n/format";
import { MemoryDialog } from "../MemoryDialog";
import type { ChatSearch } from "../routes";
import styles from "./ConversationList.module.css";
import { ConversationMenu } from "./ConversationMenu";
import { useRunningThreads } from "./conversations";
import { type ListedSession, type Session, sessionListQuery, sessionQuery } from "./sessions";

export function ConversationList({ onOpen }: { onOpen?: () => void }) {
  const { t } = useTranslation("chat");
  const may = useMay();
  const { find = "", archived = false } = useSearch({ from: "/shell/conversations" });
  const running = useRunningThreads();
  const list = useInfiniteQuery(sessionListQuery(find, archived));
  const current = useCurrentConversation();
  const queries = useQueryClient();
  // Titles and order change when a run begins and ends.
  // biome-ignore lint/correctness/useExhaustiveDependencies: this is what it waits for
  useEffect(() => void queries.invalidateQueries({ queryKey: ["sessions"] }), [running, queries]);
  const items = list.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <div className={styles.list}>
      <LinkButton to="/chat" icon={Plus} variant="primary" onClick={onOpen}>
        {t("list.new")}
      </LinkButton>
      <Filter find={find} archived={archived} />
      {list.isPending && <Skeleton lines={6} />}
      {list.isError && <ErrorNotice error={list.error} onRetry={() => list.refetch()} />}
      {items.length > 0 && (
        <ul className={styles.items} aria-busy={list.isFetching}>
          {items.map((session) => (
            <Item
              key={session.id}
              session={session}
              current={conversationId(session) === current}
              running={running.has(session.thread_id)}
              onOpen={onOpen}
            />
          ))}
        </ul>
      )}
      {list.isSuccess && items.length === 0 && (
        <p className={styles.none}>{t(find ? "list.nothing_found" : archived ? "list.none_archived" : "list.none")}</p>
      )}
      {list.hasNextPage && (
        <Button size="s" busy={list.isFetchingNextPage} onClick={() => list.fetchNextPage()}>
          {t("list.more")}
        </Button>
      )}
      {may("memory:view") && <MemoryDialog />}
    </div>
  );
}

/** The same for all branches of a conversation. */
function conversationId({ id, conversation_id: shared }: Session): string {
  return shared ?? id;
}

/** The conversation that is open, in any of its branches; undefined where none is. */
function useCurrentConversation(): string | undefined {
  const { threadId = "" } = useParams({ strict: false });
  const { data } = useQuery({ ...sessionQuery(threadId), enabled: threadId !== "" });
  return data && conversationId(data);
}

function Filter({ find, archived }: { find: string; archived: boolean }) {
  const { t } = useTranslation("chat");
  const navigate = useNavigate();
  const [text, setText] = useState(find);
  const latest = useRef(find);
  useEffect(() => {
    if (text === latest.current) return;
    const timer = setTimeout(() => {
      latest.current = text;
      void navigate({
        to: ".",
        search: (before: ChatSearch) => ({ ...before, find: text || undefined }),
        replace: true,
      });
    }, 250);
    return () => clearTimeout(timer);
  }, [text, navigate]);
  return (
    <div className={styles.filter}>
      <label className={styles.search}>
        <Search size={15} aria-hidden />
        <span className="visually-hidden">{t("list.find")}</span>
        <input
          type="search"
          value={text}
          placeholder={t("list.find")}
          onChange={(event) => setText(event.target.value)}
        />
      </label>
      <IconButton
        icon={Archive}
        label={t("list.archived")}
        aria-pressed={archived}
        className={archived ? styles.pressed : undefined}
        onClick={() =>
          navigate({
            to: ".",
            search: (before: ChatSearch) => ({ ...before, archived: archived ? undefined : true }),
            replace: true,
          })
        }
      />
    </div>
  );
}

interface ItemProps {
  session: ListedSession;
  /** Whether the conversation is open, in this branch or another one. */
  current: boolean;
  running: boolean;
  onOpen: (() => void) | undefined;
}

function Item({ session, current, running, onOpen }: ItemProps) {
  const { t } = useTranslation("chat");
  const { thread_id: threadId, title, match, last_message_at: at } = session;
  return (
    <li className={styles.item}>
      <Link
        to="/chat/$threadId"
        params={{ threadId }}
        search={({ find, archived }: ChatSearch) => ({ find, archived })}
        className={styles.link}
        aria-current={current ? "page" : undefined}
        onClick={onOpen}
      >
        <span className={styles.title}>{title || t("list.untitled")}</span>
        {match && <span className={styles.excerpt}>{match.excerpt}</span>}
        <span className={styles.when}>
          {running ? <span className={styles.running}>{t("list.running")}</span> : at && formatRelative(at)}
        </span>
      </Link>
      <ConversationMenu session={session} />
    </li>
  );
}
