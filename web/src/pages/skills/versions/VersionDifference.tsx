/** What changed between two versions: in meaning, in the text, in the files. */
import { useQuery } from "@tanstack/react-query";
import { ArrowLeft } from "lucide-react";
import { lazy, Suspense } from "react";
import { useTranslation } from "react-i18next";
import { api, call, type Schemas } from "@/api/client";
import { LinkButton } from "@/components/Button";
import { Badge } from "@/components/feedback/Badge";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Notice } from "@/components/feedback/Notice";
import { Section, Skeleton } from "@/components/layout/Page";
import { useSkillId, versionQuery } from "../skillQueries";
import styles from "./VersionList.module.css";

const TextDifference = lazy(() =>
  import("../editor/source/TextDifference").then((module) => ({ default: module.TextDifference })),
);

type Difference = Pick<Schemas["DiffAnswer"], "files"> & {
  semantic: Omit<Schemas["SkillDifference"], "restricts_tools">;
};

export function VersionDifference({ from, to }: { from?: number | undefined; to?: number | undefined }) {
  const { t } = useTranslation(["skills", "common"]);
  const id = useSkillId();
  const { data, error, refetch } = useQuery({
    queryKey: ["skill", id, "diff", from, to],
    queryFn: () =>
      call(
        api.GET("/api/v1/skills/{skill_id}/diff", {
          params: { path: { skill_id: id }, query: { ...(from && { from }), ...(to && { to }) } },
        }),
      ),
  });
  return (
    <>
      <div className={styles.actions}>
        <LinkButton size="s" icon={ArrowLeft} to="/skills/$skillId/versions" params={{ skillId: id }}>
          {t("versions.title")}
        </LinkButton>
      </div>
      {error && <ErrorNotice error={error} onRetry={() => refetch()} />}
      {!data && !error && <Skeleton lines={8} />}
      {data && (
        <>
          <Section
            title={t(data.from_version === data.to_version ? "versions.text_of" : "versions.difference", {
              from: data.from_version,
              to: data.to_version,
            })}
          >
            {data.breaking && (
              <Notice tone="warning">
                <p>{t("versions.breaking")}</p>
              </Notice>
            )}
            <MeaningChanges difference={data} />
          </Section>
          <Texts from={data.from_version} to={data.to_version} />
        </>
      )}
    </>
  );
}

function Texts({ from, to }: { from: number; to: number }) {
  const { t } = useTranslation(["skills", "common"]);
  const id = useSkillId();
  const before = useQuery(versionQuery(id, from));
  const after = useQuery(versionQuery(id, to));
  const error = before.error ?? after.error;
  if (error) return <ErrorNotice error={error} onRetry={() => void Promise.all([before.refetch(), after.refetch()])} />;
  if (!before.data || !after.data) return <Skeleton lines={10} />;
  return (
    <Section title={t("versions.text")}>
      <Suspense fallback={<Skeleton lines={10} />}>
        <TextDifference
          before={before.data.content}
          after={after.data.content}
          label={t("versions.difference", { from, to })}
        />
      </Suspense>
    </Section>
  );
}

function MeaningChanges({ difference: { semantic, files } }: { difference: Difference }) {
  const { t } = useTranslation(["skills", "common"]);
  const { params_added, params_removed, params_changed, steps, lists, tools, values, widens_tools } = semantic;
  const lines = [
    ...Object.entries(values).map(([name, change]) =>
      t("versions.value", { name: fieldName(name), before: change.before, after: change.after }),
    ),
    ...params_added.map(({ name }) => t("versions.param_added", { name })),
    ...params_removed.map(({ name }) => t("versions.param_removed", { name })),
    ...params_changed.map(({ name }) => t("versions.param_changed", { name })),
    ...steps.map(({ before, after }) => {
      const title = (after ?? before)?.title ?? "";
      const number = (after ?? before)?.index ?? 0;
      const step = title ? t("versions.step", { number, title }) : number;
      return t(before ? (after ? "versions.step_changed" : "versions.step_removed") : "versions.step_added", { step });
    }),
    ...Object.entries(lists).flatMap(([name, change]) => [
      ...change.added.map((text) => t("versions.item_added", { name: fieldName(name), text })),
      ...change.removed.map((text) => t("versions.item_removed", { name: fieldName(name), text })),
    ]),
    ...tools.added.map((text) => t("versions.item_added", { name: t("form.allowed_tools"), text })),
    ...tools.removed.map((text) => t("versions.item_removed", { name: t("form.allowed_tools"), text })),
    ...files.map(({ path, before, after }) =>
      t(before ? (after ? "versions.file_changed" : "versions.file_removed") : "versions.file_added", { path }),
    ),
  ];
  function fieldName(name: string): string {
    switch (name) {
      case "name":
      case "description":
      case "trigger_conditions":
      case "not_for":
      case "outputs":
      case "constraints":
        return t(`form.${name}`);
      default:
        return name;
    }
  }
  return (
    <>
      {widens_tools && (
        <p>
          <Badge tone="warning">{t("versions.widens_tools")}</Badge>
        </p>
      )}
      {lines.length ? (
        <ul className={styles.changes}>
          {lines.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      ) : (
        <p className={styles.quiet}>{t("versions.same_meaning")}</p>
      )}
    </>
  );
}
