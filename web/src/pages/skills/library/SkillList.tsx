/** The library of skills. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { BookOpenText, Import, Plus, SearchX } from "lucide-react";
import { type DragEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { Button, LinkButton } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { EmptyState } from "@/components/feedback/Notice";
import { Page, Skeleton } from "@/components/layout/Page";
import { libraryQuery, PAGE_SIZE } from "../skillQueries";
import { SkillCard } from "./SkillCard";
import { SkillFilters } from "./SkillFilters";
import { SkillImportDialog } from "./SkillImportDialog";
import styles from "./SkillList.module.css";
import { SkillSelectionBar } from "./SkillSelectionBar";

const route = getRouteApi("/shell/skills");

export function SkillList() {
  const { t } = useTranslation(["skills", "common"]);
  const may = useMay();
  const [files, setFiles] = useState<File[] | null>(null);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const mayWrite = may("skill:write");
  const { isOver, ...drop } = useFileDrop(mayWrite, setFiles);
  function toggle(id: string) {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    setSelected(next);
  }
  return (
    <div {...drop} className={isOver ? styles.dropping : undefined}>
      <Page
        title={t("common:nav.skills")}
        lead={t("library.lead")}
        actions={
          mayWrite && (
            <>
              <Button icon={Import} onClick={() => setFiles([])}>
                {t("import.action")}
              </Button>
              <LinkButton to="/skills/new" variant="primary" icon={Plus}>
                {t("new.action")}
              </LinkButton>
            </>
          )
        }
      >
        <SkillFilters />
        {selected.size > 0 && <SkillSelectionBar ids={[...selected]} onClear={() => setSelected(new Set())} />}
        <SkillCards selected={selected} onToggle={toggle} mayWrite={mayWrite} />
        {isOver && <p className={styles.dropHint}>{t("import.drop_here")}</p>}
      </Page>
      {files && <SkillImportDialog initial={files} onClose={() => setFiles(null)} />}
    </div>
  );
}

function SkillCards({
  selected,
  onToggle,
  mayWrite,
}: {
  selected: ReadonlySet<string>;
  onToggle: (id: string) => void;
  mayWrite: boolean;
}) {
  const { t } = useTranslation(["skills", "common"]);
  const search = route.useSearch();
  const { data, error, refetch } = useQuery(libraryQuery(search));
  if (error) return <ErrorNotice error={error} onRetry={() => refetch()} />;
  if (!data) return <Skeleton lines={8} />;
  if (!data.items.length) return <NoSkills mayWrite={mayWrite} />;
  return (
    <>
      <p className={styles.note} role="status">
        {t("library.count", { count: data.total })}
      </p>
      <ul className={styles.cards}>
        {data.items.map((skill) => (
          <SkillCard
            key={skill.id}
            skill={skill}
            selected={selected.has(skill.id)}
            onToggle={() => onToggle(skill.id)}
          />
        ))}
      </ul>
      <Pages total={data.total} />
    </>
  );
}

function NoSkills({ mayWrite }: { mayWrite: boolean }) {
  const { t } = useTranslation(["skills", "common"]);
  const { q, tag, category, show } = route.useSearch();
  if (q || tag || category)
    return (
      <EmptyState
        icon={SearchX}
        title={t("library.none_found")}
        action={
          <LinkButton to="/skills" search={{ show: "all" }}>
            {t("library.show_all")}
          </LinkButton>
        }
      >
        {t("library.none_found_hint")}
      </EmptyState>
    );
  if (show === "pending") return <EmptyState icon={BookOpenText} title={t("library.none_pending")} />;
  return (
    <EmptyState
      icon={BookOpenText}
      title={t("library.none")}
      action={
        mayWrite ? (
          <LinkButton to="/skills/new" variant="primary" icon={Plus}>
            {t("new.action")}
          </LinkButton>
        ) : (
          <LinkButton to="/skills" search={{ show: "all" }}>
            {t("library.show_all")}
          </LinkButton>
        )
      }
    >
      {t("library.none_hint")}
    </EmptyState>
  );
}

function Pages({ total }: { total: number }) {
  const { t } = useTranslation(["skills", "common"]);
  const { page = 1, ...search } = route.useSearch();
  const last = Math.ceil(total / PAGE_SIZE);
  if (last < 2) return null;
  return (
    <nav className={styles.pages} aria-label={t("pages.label")}>
      <LinkButton to="/skills" search={{ ...search, page: page - 1 }} disabled={page <= 1}>
        {t("pages.previous")}
      </LinkButton>
      <span>{t("pages.of", { page, last })}</span>
      <LinkButton to="/skills" search={{ ...search, page: page + 1 }} disabled={page >= last}>
        {t("pages.next")}
      </LinkButton>
    </nav>
  );
}

/** Files that are dropped anywhere on the page. */
function useFileDrop(enabled: boolean, onFiles: (files: File[]) => void) {
  const [isOver, setIsOver] = useState(false);
  if (!enabled) return { isOver: false };
  return {
    isOver,
    onDragOver: (event: DragEvent) => {
      if (!event.dataTransfer.types.includes("Files")) return;
      event.preventDefault();
      setIsOver(true);
    },
    onDragLeave: (event: DragEvent<HTMLElement>) => {
      if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setIsOver(false);
    },
    onDrop: (event: DragEvent) => {
      event.preventDefault();
      setIsOver(false);
      if (event.dataTransfer.files.length) onFiles([...event.dataTransfer.files]);
    },
  };
}
