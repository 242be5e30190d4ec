export function RuleLog() {
  return null;
}
