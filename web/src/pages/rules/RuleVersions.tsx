export function RuleVersions() {
  return null;
}
