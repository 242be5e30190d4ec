/** The versions of a skill, and what changed between two of them. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { ArrowLeft, Download, GitCompare, RotateCcw } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { api, type Schemas, save } from "@/api/client";
import { IconButton, LinkButton } from "@/components/Button";
import { Badge } from "@/components/feedback/Badge";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { notify, useErrorToast } from "@/components/feedback/toasts";
import { Section, Skeleton, Table } from "@/components/layout/Page";
import { ConfirmDialog } from "@/components/overlays/Dialog";
import { formatBytes, formatDateTime, formatNumber } from "@/i18n/format";
import { exportAddress } from "../exports";
import { keepChanged, loaded, skillQuery, useSkillId, versionsQuery } from "../skillQueries";
import { VersionDifference } from "./VersionDifference";
import styles from "./VersionList.module.css";

type Version = Schemas["VersionAnswer"];
const route = getRouteApi("/shell/skills/$skillId/versions");
const VERSIONS_PER_PAGE = 20;

export function VersionList() {
  const id = useSkillId();
  const { page = 1, from, to } = route.useSearch();
  const { data, error, refetch } = useQuery(versionsQuery(id, page));
  if (from || to) return <VersionDifference from={from} to={to} />;
  if (error) return <ErrorNotice error={error} onRetry={() => refetch()} />;
  if (!data) return <Skeleton lines={8} />;
  return (
    <>
      <VersionTable versions={data.items} />
      <Pages page={page} last={Math.ceil(data.total / VERSIONS_PER_PAGE)} />
    </>
  );
}

function VersionTable({ versions }: { versions: Version[] }) {
  const { t } = useTranslation(["skills", "common"]);
  const id = useSkillId();
  const [chosen, setChosen] = useState<number[]>([]);
  const toggle = (number: number) =>
    // The two that were chosen last.
    setChosen((now) => (now.includes(number) ? now.filter((one) => one !== number) : [...now, number].slice(-2)));
  return (
    <Section
      title={t("versions.title")}
      actions={
        chosen.length === 2 && (
          <LinkButton
            size="s"
            icon={GitCompare}
            to="/skills/$skillId/versions"
            params={{ skillId: id }}
            search={{ from: Math.min(...chosen), to: Math.max(...chosen) }}
          >
            {t("versions.compare_chosen")}
          </LinkButton>
        )
      }
    >
      <Table
        label={t("versions.title")}
        head={
          <>
            <th>{t("versions.choose")}</th>
            <th>{t("versions.number")}</th>
            <th>{t("versions.note")}</th>
            <th>{t("versions.author")}</th>
            <th>{t("versions.when")}</th>
            <th>{t("versions.size")}</th>
            <th>{t("versions.used")}</th>
            <th>
              <span className="visually-hidden">{t("versions.actions")}</span>
            </th>
          </>
        }
      >
        {versions.map((version) => (
          <VersionRow
            key={version.version}
            version={version}
            isChosen={chosen.includes(version.version)}
            onChoose={() => toggle(version.version)}
          />
        ))}
      </Table>
    </Section>
  );
}

function VersionRow({ version, isChosen, onChoose }: { version: Version; isChosen: boolean; onChoose: () => void }) {
  const { t } = useTranslation(["skills", "common"]);
  const { version: number } = version;
  return (
    <tr>
      <td>
        <input
          type="checkbox"
          checked={isChosen}
          onChange={onChoose}
          aria-label={t("versions.choose_number", { number })}
        />
      </td>
      <td>{number}</td>
      <td className={styles.noteCell}>
        <p>{noteOf(version, t("versions.restored", { number: version.restored_from }))}</p>
        <p className={styles.badges}>
          {!version.valid && <Badge tone="danger">{t("state.invalid")}</Badge>}
          {version.unread && <Badge tone="warning">{t("state.unread")}</Badge>}
          {version.review === "pending" && <Badge tone="warning">{t("versions.pending")}</Badge>}
          {version.review === "approved" && <Badge tone="success">{t("versions.approved")}</Badge>}
          {version.review === "rejected" && <Badge tone="danger">{t("versions.rejected")}</Badge>}
        </p>
        {version.review_note && <p className={styles.quiet}>{version.review_note}</p>}
      </td>
      <td>{version.author?.username}</td>
      <td className={styles.nowrap}>{formatDateTime(version.created_at)}</td>
      <td className={styles.nowrap}>{formatBytes(version.size)}</td>
      <td>{formatNumber(version.usage.loaded)}</td>
      <td>
        <VersionActions version={version} />
      </td>
    </tr>
  );
}

function VersionActions({ version: { version: number } }: { version: Version }) {
  const { t } = useTranslation(["skills", "common"]);
  const id = useSkillId();
  const may = useMay();
  const queries = useQueryClient();
  const showError = useErrorToast();
  const { data } = useQuery(skillQuery(id));
  const [asking, setAsking] = useState(false);
  const mayRestore = may("skill:write") && data?.skill.can_write && data.skill.version !== number;
  async function restore() {
    const changed = await loaded(
      api.POST("/api/v1/skills/{skill_id}/versions/{version}/restore", {
        params: { path: { skill_id: id, version: String(number) } },
        body: { change_note: "" },
      }),
    );
    await keepChanged(queries, changed);
    notify(t("versions.restore_done", { number, version: changed.skill.version }));
  }
  return (
    <div className={styles.actions}>
      <LinkButton
        size="s"
        variant="ghost"
        icon={GitCompare}
        to="/skills/$skillId/versions"
        params={{ skillId: id }}
        search={{ to: number }}
      >
        {t("versions.changes")}
      </LinkButton>
      <IconButton
        size="s"
        icon={Download}
        label={t("versions.download", { number })}
        onClick={() => void save(exportAddress(id, "markdown", number)).catch(showError)}
      />
      {mayRestore && (
        <IconButton
          size="s"
          icon={RotateCcw}
          label={t("versions.restore_number", { number })}
          onClick={() => setAsking(true)}
        />
      )}
      <ConfirmDialog
        open={asking}
        onClose={() => setAsking(false)}
        title={t("versions.restore_title", { number })}
        description={t("versions.restore_what")}
        action={t("versions.restore")}
        onConfirm={restore}
      />
    </div>
  );
}

function Pages({ page, last }: { page: number; last: number }) {
  const { t } = useTranslation(["skills", "common"]);
  const params = { skillId: useSkillId() };
  if (last < 2) return null;
  return (
    <nav className={styles.actions} aria-label={t("pages.label")}>
      {page > 1 && (
        <LinkButton icon={ArrowLeft} to="/skills/$skillId/versions" params={params} search={{ page: page - 1 }}>
          {t("pages.previous")}
        </LinkButton>
      )}
      <span>{t("pages.of", { page, last })}</span>
      {page < last && (
        <LinkButton to="/skills/$skillId/versions" params={params} search={{ page: page + 1 }}>
          {t("pages.next")}
        </LinkButton>
      )}
    </nav>
  );
}

function noteOf(version: Version, restored: string): string {
  return version.change_note || (version.restored_from ? restored : "");
}
