/** Search in several knowledge bases at once. */
import { getRouteApi, Link } from "@tanstack/react-router";
import { BookOpen, FlaskConical, TextSearch } from "lucide-react";
import { useTranslation } from "react-i18next";
import { LinkButton } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { EmptyState } from "@/components/feedback/Notice";
import { CheckboxField } from "@/components/forms/Field";
import { Page, Section, Skeleton } from "@/components/layout/Page";
import { Disclosure } from "@/components/overlays/Disclosure";
import { QueryForm } from "./QueryForm";
import { HitList } from "./results/HitList";
import { ResultSummary } from "./results/ResultSummary";
import styles from "./SearchPage.module.css";
import { nonEmpty, type WideSearchParams } from "./searchParams";
import { useKnowledgeBaseChoice, useWideSearch } from "./searchQueries";
import { FilterForm } from "./settings/FilterForm";
import { OptionsForm } from "./settings/OptionsForm";

const route = getRouteApi("/shell/search");

export function SearchPage() {
  const { t } = useTranslation(["search", "common"]);
  const params = route.useSearch();
  const navigate = route.useNavigate();
  const found = useWideSearch(params);
  const choice = useKnowledgeBaseChoice();
  const names = new Map(choice.data?.items.map(({ id, name }) => [id, name]));
  const answer = params.q ? found.data : undefined;
  function set(part: Partial<WideSearchParams>, replace = false) {
    void navigate({ to: ".", search: { ...params, ...part }, replace, resetScroll: false });
  }
  return (
    <Page title={t("common:nav.search")} lead={t("wide.lead")}>
      <Section>
        <QueryForm
          query={params.q}
          place="all"
          busy={found.isFetching}
          onAsk={(q) => {
            if (q === params.q) void found.refetch();
            else set({ q });
          }}
        />
        <KnowledgeBaseChoice
          chosen={params.kb ?? []}
          onChange={(kb) => set({ kb: kb.length ? kb : undefined }, true)}
        />
        <FilterForm filters={params.filters} onChange={(filters) => set({ filters })} />
        <Disclosure title={t("option.title")} count={Object.keys(params.options ?? {}).length}>
          <OptionsForm
            options={params.options ?? {}}
            effective={answer && { ...answer.request, dense_weight: answer.dense_weight }}
            onChange={(options) => set({ options: nonEmpty(options) }, true)}
          />
        </Disclosure>
      </Section>
      {params.q ? (
        <Section title={t("result.title")} actions={answer && <TestLinks params={params} names={names} />}>
          {found.error && <ErrorNotice error={found.error} onRetry={() => void found.refetch()} />}
          {found.isPending && <Skeleton lines={8} />}
          {answer && (
            <>
              <ResultSummary answer={answer} />
              <HitList
                answer={answer}
                folded
                source={(id) => (
                  <Link to="/knowledge-bases/$kbId" params={{ kbId: id }} className={styles.source}>
                    <BookOpen size={13} aria-hidden />
                    {names.get(id) ?? t("wide.knowledge_base")}
                  </Link>
                )}
              />
            </>
          )}
        </Section>
      ) : (
        <EmptyState icon={TextSearch} title={t("wide.empty")}>
          {t("wide.empty_hint")}
        </EmptyState>
      )}
    </Page>
  );
}

/** The way into the search test, where one knowledge base is meant. */
function TestLinks({ params, names }: { params: WideSearchParams; names: ReadonlyMap<string, string> }) {
  const { t } = useTranslation("search");
  const { kb, ...search } = params;
  const id = kb?.length === 1 ? kb[0] : names.size === 1 ? [...names.keys()][0] : undefined;
  if (!id) return null;
  return (
    <LinkButton size="s" icon={FlaskConical} to="/knowledge-bases/$kbId/search" params={{ kbId: id }} search={search}>
      {t("wide.test")}
    </LinkButton>
  );
}

function KnowledgeBaseChoice({ chosen, onChange }: { chosen: readonly string[]; onChange: (ids: string[]) => void }) {
  const { t } = useTranslation("search");
  const choice = useKnowledgeBaseChoice();
  const bases = choice.data?.items.filter(({ enabled }) => enabled) ?? [];
  if (choice.error) return <ErrorNotice error={choice.error} onRetry={() => void choice.refetch()} />;
  return (
    <Disclosure title={chosen.length ? t("wide.some") : t("wide.all")} count={chosen.length}>
      <fieldset className={styles.bases}>
        <legend className="visually-hidden">{t("wide.choose")}</legend>
        {bases.map(({ id, name }) => (
          <CheckboxField
            key={id}
            label={name}
            checked={chosen.includes(id)}
            onChange={(ticked) => onChange(ticked ? [...chosen, id] : chosen.filter((each) => each !== id))}
          />
        ))}
        {!bases.length && <p>{t("wide.no_bases")}</p>}
      </fieldset>
      <p className={styles.hint}>{t("wide.choose_hint")}</p>
    </Disclosure>
  );
}
