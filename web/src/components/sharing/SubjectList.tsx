/** People and roles that may do something, as a list to change. */

import { useQuery } from "@tanstack/react-query";
import { Trash2, UserRound, UsersRound } from "lucide-react";
import { type KeyboardEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { api, call } from "@/api/client";
import { Button, IconButton } from "@/components/Button";
import { SelectField, TextField } from "@/components/forms/Field";
import styles from "./SubjectList.module.css";

export interface Subject {
  kind: "user" | "role";
  /** The user name, or the role's. */
  name: string;
  label?: string;
  access: "read" | "write";
}

export interface AccessLabels {
  read: string;
  write: string;
}

/** What a request calls somebody. */
export function subjectBody({ kind, name }: Subject) {
  return kind === "user" ? { username: name } : { role: name };
}

export function subjectOf(item: {
  user: { username: string } | null;
  role: { name: string; display_name: string } | null;
  access?: string;
}): Subject {
  const access = item.access === "write" ? "write" : "read";
  return item.role
    ? { kind: "role", name: item.role.name, label: item.role.display_name, access }
    : { kind: "user", name: item.user?.username ?? "", access };
}

export function SubjectList({
  subjects,
  onChange,
  accessLabels,
  emptyText,
}: {
  subjects: readonly Subject[];
  onChange: (subjects: readonly Subject[]) => void;
  /** What each access is called, where there is a choice. */
  accessLabels?: AccessLabels;
  emptyText: string;
}) {
  const { t } = useTranslation();
  function add(subject: Subject) {
    onChange([...subjects.filter(({ kind, name }) => kind !== subject.kind || name !== subject.name), subject]);
  }
  return (
    <>
      {subjects.length ? (
        <ul className={styles.list}>
          {subjects.map((subject) => (
            <SubjectLine
              key={`${subject.kind} ${subject.name}`}
              subject={subject}
              accessLabels={accessLabels}
              onChange={(next) => onChange(subjects.map((each) => (each === subject ? next : each)))}
              onRemove={() => onChange(subjects.filter((each) => each !== subject))}
            />
          ))}
        </ul>
      ) : (
        <p className={styles.empty}>{emptyText}</p>
      )}
      <AddSubject onAdd={add} label={t("subject.add")} />
    </>
  );
}

function SubjectLine({
  subject,
  accessLabels,
  onChange,
  onRemove,
}: {
  subject: Subject;
  accessLabels: AccessLabels | undefined;
  onChange: (subject: Subject) => void;
  onRemove: () => void;
}) {
  const { t } = useTranslation();
  const Icon = subject.kind === "user" ? UserRound : UsersRound;
  return (
    <li className={styles.line}>
      <Icon size={16} aria-hidden />
      <span className={styles.name}>
        {subject.name}
        <span className={styles.kind}>{t(`subject.${subject.kind}`)}</span>
      </span>
      {accessLabels && (
        <select
          className={styles.access}
          aria-label={t("subject.access_of", { name: subject.name })}
          value={subject.access}
          onChange={(event) => onChange({ ...subject, access: event.target.value === "write" ? "write" : "read" })}
        >
          <option value="read">{accessLabels.read}</option>
          <option value="write">{accessLabels.write}</option>
        </select>
      )}
      <IconButton icon={Trash2} size="s" label={t("subject.remove", { name: subject.name })} onClick={onRemove} />
    </li>
  );
}

/** Names to choose from, for who may see them. */
function useKnownNames(kind: Subject["kind"]): readonly string[] {
  const may = useMay()("users:manage");
  const users = useQuery({
    queryKey: ["users", "names"],
    queryFn: ({ signal }) => call(api.GET("/api/v1/admin/users", { params: { query: { page_size: 100 } }, signal })),
    enabled: may && kind === "user",
    staleTime: 60_000,
  });
  const roles = useQuery({
    queryKey: ["roles"],
    queryFn: ({ signal }) => call(api.GET("/api/v1/admin/roles", { signal })),
    enabled: may && kind === "role",
    staleTime: 60_000,
  });
  if (kind === "user") return users.data?.items.map(({ username }) => username) ?? [];
  return roles.data?.items.map(({ name }) => name) ?? ["admin", "developer", "viewer"];
}

function AddSubject({ onAdd, label }: { onAdd: (subject: Subject) => void; label: string }) {
  const { t } = useTranslation();
  const [kind, setKind] = useState<Subject["kind"]>("user");
  const [name, setName] = useState("");
  const known = useKnownNames(kind);
  function add() {
    if (!name.trim()) return;
    onAdd({ kind, name: name.trim(), access: "read" });
    setName("");
  }
  function press(event: KeyboardEvent) {
    if (event.key !== "Enter" || event.nativeEvent.isComposing) return;
    event.preventDefault();
    add();
  }
  return (
    <div className={styles.add}>
      <SelectField
        label={t("subject.kind")}
        value={kind}
        options={[
          { value: "user", label: t("subject.user") },
          { value: "role", label: t("subject.role") },
        ]}
        onChange={(event) => setKind(event.target.value === "role" ? "role" : "user")}
      />
      <TextField
        label={t(kind === "user" ? "subject.user_name" : "subject.role_name")}
        value={name}
        list={`subjects-${kind}`}
        autoComplete="off"
        onChange={(event) => setName(event.target.value)}
        onKeyDown={press}
      />
      <datalist id={`subjects-${kind}`}>
        {known.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
      <Button onClick={add} disabled={!name.trim()}>
        {label}
      </Button>
    </div>
  );
}
