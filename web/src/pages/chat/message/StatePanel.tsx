/** The plan, the attempts and the skills of a run, as the agent keeps them. */
import { Circle, CircleAlert, CircleCheck, CircleDot, CircleSlash } from "lucide-react";
import { memo, useMemo } from "react";
import { useTranslation } from "react-i18next";
import { Badge } from "@/components/feedback/Badge";
import { formatPercent } from "@/i18n/format";
import { type AgentState, type PlanStep, readAgentState } from "./agentState";
import styles from "./StatePanel.module.css";
import { isAgentType } from "./toolNames";

export const StatePanel = memo(function StatePanel({ state }: { state: Readonly<Record<string, unknown>> }) {
  const { plan, attempts, reflections, route, skills } = useMemo(() => readAgentState(state), [state]);
  return (
    <>
      {route && <Route route={route} />}
      {plan.length > 0 && <Plan plan={plan} />}
      {attempts.length > 0 && <Attempts attempts={attempts} reflections={reflections} />}
      {skills.length > 0 && <Skills skills={skills} />}
    </>
  );
});

function Route({ route }: { route: NonNullable<AgentState["route"]> }) {
  const { t } = useTranslation("chat");
  const type = isAgentType(route.agentType) ? t(`agent.${route.agentType}.name`) : route.agentType;
  return (
    <p className={styles.route}>
      {t("state.route", { type })}
      {route.reason && ` — ${route.reason}`}
    </p>
  );
}

const ICONS = { pending: Circle, running: CircleDot, done: CircleCheck, failed: CircleAlert, skipped: CircleSlash };

function Plan({ plan }: { plan: readonly PlanStep[] }) {
  const { t } = useTranslation("chat");
  return (
    <section className={styles.panel} aria-label={t("state.plan")}>
      <h3>
        {t("state.plan")}
        <span>
          {t("state.plan_done", { done: plan.filter(({ status }) => status === "done").length, count: plan.length })}
        </span>
      </h3>
      <ol>
        {plan.map(({ task, status, result }, index) => {
          const Icon = ICONS[status];
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: a step is its place in the plan
            <li key={index} className={styles[status]}>
              <Icon size={15} aria-hidden />
              <div>
                <p>
                  <span className="visually-hidden">{t(`state.status.${status}`)}: </span>
                  {task}
                </p>
                {result && result !== "-" && <p className={styles.result}>{result}</p>}
              </div>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

function Attempts({ attempts, reflections }: Pick<AgentState, "attempts" | "reflections">) {
  const { t } = useTranslation("chat");
  return (
    <details className={styles.panel}>
      <summary>
        {t("state.attempts", { count: attempts.length })}
        {attempts.at(-1)?.passed && <Badge tone="success">{t("state.passed")}</Badge>}
      </summary>
      <ol>
        {attempts.map(({ number, score, passed, problems }, index) => (
          <li key={number}>
            <div>
              <p>
                {t("state.attempt", { number })} {score !== null && formatPercent(score)}{" "}
                <Badge tone={passed ? "success" : "warning"}>{t(passed ? "state.passed" : "state.short")}</Badge>
              </p>
              {problems.map((problem) => (
                <p key={problem} className={styles.result}>
                  {problem}
                </p>
              ))}
              {reflections[index] && <p className={styles.reflection}>{reflections[index]}</p>}
            </div>
          </li>
        ))}
      </ol>
    </details>
  );
}

function Skills({ skills }: Pick<AgentState, "skills">) {
  const { t } = useTranslation("chat");
  return (
    <section className={styles.panel} aria-label={t("state.skills")}>
      {skills.map(({ name, steps }) => (
        <div key={name}>
          <h3>{t("state.skill", { name })}</h3>
          <ol>
            {steps.map((step) => (
              <li key={step.name} className={step.done ? styles.done : styles.pending}>
                {step.done ? <CircleCheck size={15} aria-hidden /> : <Circle size={15} aria-hidden />}
                <p>{step.name}</p>
              </li>
            ))}
          </ol>
        </div>
      ))}
    </section>
  );
}
