export function NewRule() {
  return null;
}
