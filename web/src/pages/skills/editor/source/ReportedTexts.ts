/**
 * Texts that an editor has reported and that have not come back as its value yet.
 *
 * A page draws more slowly than a person types: when the text with one letter comes back, the editor may hold two
 * more. It must keep them, and still take texts that others set.
 */
export class ReportedTexts {
  private readonly texts: string[] = [];

  add(text: string): void {
    this.texts.push(text);
  }

  /** Whether a value is a reported text; it and those before it are forgotten, or all of them after another's text. */
  takeBack(value: string): boolean {
    const index = this.texts.indexOf(value);
    this.texts.splice(0, index < 0 ? this.texts.length : index + 1);
    return index >= 0;
  }
}
