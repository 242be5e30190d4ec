/** Texts to begin a skill with. */
import blankEn from "./templates/blank.en.md?raw";
import blankZh from "./templates/blank.zh.md?raw";
import procedureEn from "./templates/procedure.en.md?raw";
import procedureZh from "./templates/procedure.zh.md?raw";
import standardEn from "./templates/standard.en.md?raw";
import standardZh from "./templates/standard.zh.md?raw";

export const TEMPLATES = {
  procedure: { en: procedureEn, zh: procedureZh },
  standard: { en: standardEn, zh: standardZh },
  blank: { en: blankEn, zh: blankZh },
} as const;

export type TemplateKind = keyof typeof TEMPLATES;
