/** Which requests choose a skill: a test, and the tests before it. */
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { FlaskConical, Square } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { api, call } from "@/api/client";
import { Button } from "@/components/Button";
import { ProgressBar } from "@/components/feedback/Badge";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { SelectField, TextAreaField } from "@/components/forms/Field";
import { Section, Table } from "@/components/layout/Page";
import { formatDateTime } from "@/i18n/format";
import { linesOf, usePersistentForm } from "../editor/usePersistentForm";
import { useSkillId } from "../skillQueries";
import { ModelSelect } from "./ModelSelect";
import { TEST_FORM, testFormName } from "./requests";
import { Rate, TriggerReport, type TriggerTestReport } from "./TriggerReport";
import styles from "./trials.module.css";
import { type TrialWork, useWork } from "./useWork";

const route = getRouteApi("/shell/skills/$skillId/tests");
const BY = ["auto", "model", "offline"] as const;

export function TriggerTests() {
  const { t } = useTranslation(["skills", "common"]);
  const id = useSkillId();
  const { test: openTest } = route.useSearch();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const work = useWork<TriggerTestReport>();
  const {
    data: history,
    error,
    refetch,
  } = useQuery({
    queryKey: ["skill", id, "trigger-tests"],
    queryFn: () =>
      call(
        api.GET("/api/v1/skills/{skill_id}/trigger-tests", {
          params: { path: { skill_id: id }, query: { page_size: 50 } },
        }),
      ),
    placeholderData: keepPreviousData,
  });
  async function start(body: object) {
    const address = `/api/v1/skills/${encodeURIComponent(id)}/trigger-test`;
    if (openTest) await navigate({ to: "/skills/$skillId/tests", params: { skillId: id } });
    if (await work.start(address, body)) await queries.invalidateQueries({ queryKey: ["skill", id, "trigger-tests"] });
  }
  const opened = openTest ? history?.items.find((one) => one.id === openTest)?.report : work.result;
  return (
    <>
      <TestForm work={work} onStart={start} />
      {work.error !== null && <ErrorNotice error={work.error} />}
      {opened && <TriggerReport report={opened} />}
      {error && <ErrorNotice error={error} onRetry={() => refetch()} />}
      {history && history.items.length > 0 && (
        <Section title={t("tests.history")}>
          <Table
            label={t("tests.history")}
            head={
              <>
                <th>{t("tests.when")}</th>
                <th>{t("versions.number")}</th>
                <th>{t("tests.model")}</th>
                <th>{t("tests.queries")}</th>
                <th>{t("tests.recall")}</th>
                <th>{t("tests.precision")}</th>
              </>
            }
          >
            {history.items.map(({ id: testId, created_at, report }) => (
              <tr key={testId} aria-current={testId === openTest || undefined}>
                <td>
                  <Link
                    to="/skills/$skillId/tests"
                    params={{ skillId: id }}
                    search={{ test: testId }}
                    resetScroll={false}
                  >
                    {formatDateTime(created_at)}
                  </Link>
                </td>
                <td>{report.version}</td>
                <td>{report.model ?? t("tests.offline")}</td>
                <td>{report.all.queries}</td>
                <td>
                  <Rate value={report.all.recall} />
                </td>
                <td>
                  <Rate value={report.all.precision} />
                </td>
              </tr>
            ))}
          </Table>
        </Section>
      )}
    </>
  );
}

function TestForm({ work, onStart }: { work: TrialWork<TriggerTestReport>; onStart: (body: object) => void }) {
  const { t } = useTranslation(["skills", "common"]);
  const may = useMay();
  const [form, setForm] = usePersistentForm(testFormName(useSkillId()), TEST_FORM);
  const queries = [
    ...linesOf(form.yes).map((query) => ({ query, should_trigger: true })),
    ...linesOf(form.no).map((query) => ({ query, should_trigger: false })),
  ];
  const asksModel = form.by !== "offline" && may("agent:run");
  function start() {
    const chosen = asksModel && form.model ? { model_id: form.model } : {};
    onStart({ queries, by: asksModel ? form.by : "offline", runs: Number(form.runs), ...chosen });
  }
  return (
    <Section title={t("tests.title")}>
      <p className={styles.lead}>{t("tests.lead")}</p>
      <div className={styles.pair}>
        <TextAreaField
          label={t("tests.yes")}
          hint={t("tests.one_a_line")}
          rows={6}
          value={form.yes}
          onChange={(event) => setForm({ yes: event.target.value })}
        />
        <TextAreaField
          label={t("tests.no")}
          hint={t("tests.no_hint")}
          rows={6}
          value={form.no}
          onChange={(event) => setForm({ no: event.target.value })}
        />
      </div>
      <div className={styles.options}>
        {may("agent:run") && (
          <SelectField
            label={t("tests.by")}
            value={form.by}
            options={BY.map((value) => ({ value, label: t(`tests.by_${value}`) }))}
            onChange={(event) => setForm({ by: event.target.value })}
          />
        )}
        {asksModel && (
          <>
            <ModelSelect label={t("tests.model")} value={form.model} onChange={(model) => setForm({ model })} />
            <RunsSelect value={form.runs} choices={[1, 3, 5, 10]} onChange={(runs) => setForm({ runs })} />
          </>
        )}
        <Button
          variant="primary"
          icon={FlaskConical}
          busy={work.isRunning}
          disabled={!queries.length || queries.length > 100}
          onClick={start}
        >
          {t("tests.start", { count: queries.length })}
        </Button>
        {work.isRunning && (
          <Button icon={Square} onClick={work.stop}>
            {t("common:action.stop")}
          </Button>
        )}
      </div>
      {work.isRunning && <WorkProgress work={work} />}
    </Section>
  );
}

export function RunsSelect({
  value,
  choices,
  onChange,
}: {
  value: string;
  choices: readonly number[];
  onChange: (runs: string) => void;
}) {
  const { t } = useTranslation(["skills", "common"]);
  return (
    <SelectField
      label={t("tests.runs")}
      value={value}
      options={choices.map((count) => ({ value: String(count), label: t("tests.times", { count }) }))}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

export function WorkProgress({ work: { progress } }: { work: Pick<TrialWork<unknown>, "progress"> }) {
  const { t } = useTranslation(["skills", "common"]);
  return (
    <div role="status">
      <ProgressBar value={progress?.total ? progress.done / progress.total : null} label={t("tests.progress")} />
      {progress && <p className={styles.lead}>{t("tests.progress_of", { ...progress })}</p>}
    </div>
  );
}
