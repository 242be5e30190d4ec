/** What Agentex remembers about the person: read, add, change, forget. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Brain, Trash2 } from "lucide-react";
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { api, call } from "@/api/client";
import { ApiError } from "@/api/errors";
import { Button, IconButton } from "@/components/Button";
import { Badge } from "@/components/feedback/Badge";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { TextAreaField, TextField } from "@/components/forms/Field";
import { Skeleton } from "@/components/layout/Page";
import { ConfirmDialog, Dialog } from "@/components/overlays/Dialog";
import { formatRelative } from "@/i18n/format";
import styles from "./MemoryDialog.module.css";

const KEY = ["memories"];

export function MemoryDialog() {
  const { t } = useTranslation("chat");
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button size="s" variant="ghost" icon={Brain} onClick={() => setOpen(true)}>
        {t("memory.title")}
      </Button>
      {open && (
        <Dialog open wide onClose={() => setOpen(false)} title={t("memory.title")} description={t("memory.lead")}>
          <Memories />
        </Dialog>
      )}
    </>
  );
}

function Memories() {
  const { t } = useTranslation("chat");
  const may = useMay();
  const [find, setFind] = useState("");
  const [forgetting, setForgetting] = useState(false);
  const queries = useQueryClient();
  const list = useQuery({
    queryKey: [...KEY, find],
    queryFn: () => call(api.GET("/api/v1/memories", { params: { query: { page_size: 100, q: find } } })),
    placeholderData: (before) => before,
  });
  async function forgetAll() {
    await call(api.DELETE("/api/v1/memories"));
    await queries.invalidateQueries({ queryKey: KEY });
  }
  const items = list.data?.items ?? [];
  const mayWrite = may("memory:write");
  return (
    <>
      {mayWrite && <NewMemory />}
      <TextField label={t("memory.find")} type="search" value={find} onChange={({ target }) => setFind(target.value)} />
      {list.isPending && <Skeleton />}
      {list.isError && <ErrorNotice error={list.error} onRetry={() => list.refetch()} />}
      {list.isSuccess && items.length === 0 && <p>{t(find ? "memory.nothing_found" : "memory.none")}</p>}
      <ul className={styles.items}>
        {items.map((memory) => (
          <li key={memory.id}>
            <p>{memory.text}</p>
            <div className={styles.facts}>
              <Badge>{t(`memory.source.${memory.source}`)}</Badge>
              <span>{formatRelative(memory.updated_at)}</span>
              {mayWrite && <ForgetButton id={memory.id} text={memory.text} />}
            </div>
          </li>
        ))}
      </ul>
      {mayWrite && items.length > 0 && !find && (
        <div className={styles.all}>
          <Button onClick={() => setForgetting(true)}>{t("memory.forget_all")}</Button>
        </div>
      )}
      <ConfirmDialog
        open={forgetting}
        onClose={() => setForgetting(false)}
        title={t("memory.forget_all")}
        description={t("memory.forget_all_question")}
        action={t("memory.forget_all")}
        onConfirm={forgetAll}
      />
    </>
  );
}

function NewMemory() {
  const { t } = useTranslation(["chat", "common"]);
  const queries = useQueryClient();
  const [text, setText] = useState("");
  const add = useMutation({
    mutationFn: () => call(api.POST("/api/v1/memories", { body: { text: text.trim() } })),
    onSuccess: () => {
      setText("");
      return queries.invalidateQueries({ queryKey: KEY });
    },
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    add.mutate();
  }
  return (
    <form className={styles.form} onSubmit={submit}>
      <TextAreaField
        label={t("memory.new")}
        rows={2}
        maxLength={2000}
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
      {add.isError && <ErrorNotice error={add.error} />}
      <Button type="submit" busy={add.isPending} disabled={!text.trim()}>
        {t("common:action.add")}
      </Button>
    </form>
  );
}

function ForgetButton({ id, text }: { id: string; text: string }) {
  const { t } = useTranslation("chat");
  const queries = useQueryClient();
  const [asking, setAsking] = useState(false);
  async function forget() {
    const { error, response } = await api.DELETE("/api/v1/memories/{memory_id}", {
      params: { path: { memory_id: id } },
    });
    if (error !== undefined || !response.ok) throw ApiError.of(response, error);
    await queries.invalidateQueries({ queryKey: KEY });
  }
  return (
    <>
      <IconButton size="s" icon={Trash2} label={t("memory.forget", { text })} onClick={() => setAsking(true)} />
      <ConfirmDialog
        open={asking}
        onClose={() => setAsking(false)}
        title={t("memory.forget_title")}
        description={text}
        action={t("memory.forget_title")}
        onConfirm={forget}
      />
    </>
  );
}
