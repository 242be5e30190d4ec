/** What a new skill can begin with: a template, or a skill that comes with Agentex. */
import { useTranslation } from "react-i18next";
import { Button, LinkButton } from "@/components/Button";
import { Section } from "@/components/layout/Page";
import { currentLanguage, LANGUAGES, type Language } from "@/i18n";
import styles from "./NewSkill.module.css";
import { type Starter, startersIn } from "./starters";
import { TEMPLATES, type TemplateKind } from "./templates";

/** A text to begin with, and requests to test it with. */
export interface Beginning {
  text: string;
  requests: Starter["requests"];
}

const LANGUAGE_KEYS = Object.keys(LANGUAGES) as Language[];

export function TemplateChoice({ onChoose }: { onChoose: (beginning: Beginning) => void }) {
  const { t } = useTranslation(["skills", "common"]);
  const starters = { en: startersIn("en"), zh: startersIn("zh") };
  return (
    <>
      <Section title={t("new.templates")}>
        <div className={styles.templates}>
          {(Object.keys(TEMPLATES) as TemplateKind[]).map((kind) => (
            <Template
              key={kind}
              name={t(`new.template.${kind}`)}
              description={t(`new.template.${kind}_what`)}
              onChoose={(language) => onChoose({ text: TEMPLATES[kind][language], requests: [] })}
            />
          ))}
        </div>
      </Section>
      <Section
        title={t("new.starters")}
        actions={
          <LinkButton to="/skills" search={{ show: "all" }}>
            {t("new.from_library")}
          </LinkButton>
        }
      >
        <div className={styles.templates}>
          {starters[currentLanguage()].map(({ key, name, description }, index) => (
            <Template
              key={key}
              name={name}
              description={description}
              onChoose={(language) => {
                const starter = starters[language][index];
                if (starter) onChoose({ text: starter.content, requests: starter.requests });
              }}
            />
          ))}
        </div>
      </Section>
    </>
  );
}

interface TemplateProps {
  name: string;
  description: string;
  onChoose: (language: Language) => void;
}

function Template({ name, description, onChoose }: TemplateProps) {
  const { t } = useTranslation(["skills", "common"]);
  return (
    <section className={styles.template} aria-label={name}>
      <h3>{name}</h3>
      <p>{description}</p>
      <div className={styles.languages}>
        {LANGUAGE_KEYS.map((language) => (
          <Button key={language} onClick={() => onChoose(language)}>
            {t(`new.language.${language}`)}
          </Button>
        ))}
      </div>
    </section>
  );
}
