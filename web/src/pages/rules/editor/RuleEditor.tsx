export function RuleEditor() {
  return null;
}
