/** What is different between the settings of two measurements. */

export type SettingValue = unknown;

export interface SettingDifference {
  /** Such as `chunk_size`; options of the retrieval by their own name. */
  name: string;
  before: SettingValue;
  after: SettingValue;
}

type Settings = Readonly<Record<string, unknown>>;

// A digest says that questions differ; the comparison itself says which.
const UNTOLD = new Set(["questions_digest"]);

/** The settings with the options of the retrieval beside them, without choices that are left to the defaults. */
export function flatSettings(settings: Settings): Map<string, SettingValue> {
  const { retrieval, ...others } = settings;
  const options = typeof retrieval === "object" && retrieval !== null ? Object.entries(retrieval) : [];
  return new Map([...Object.entries(others), ...options].filter(([name, value]) => value != null && !UNTOLD.has(name)));
}

export function differences(before: Settings, after: Settings): SettingDifference[] {
  const [old, now] = [flatSettings(before), flatSettings(after)];
  return [...new Set([...old.keys(), ...now.keys()])]
    .map((name) => ({ name, before: old.get(name), after: now.get(name) }))
    .filter((each) => JSON.stringify(each.before) !== JSON.stringify(each.after));
}
