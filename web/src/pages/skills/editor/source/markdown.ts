/** The editor's language: Markdown, with the frontmatter as one block. */
import { markdown } from "@codemirror/lang-markdown";
import { tags } from "@lezer/highlight";

export const skillMarkdown = markdown({
  extensions: [
    {
      defineNodes: [{ name: "Frontmatter", block: true, style: tags.meta }],
      parseBlock: [
        {
          name: "Frontmatter",
          // Else its last line would make a heading of the one before it.
          before: "HorizontalRule",
          parse(context, line) {
            if (context.lineStart !== 0 || line.text.trimEnd() !== "---") return false;
            while (context.nextLine()) {
              if (line.text.trimEnd() !== "---") continue;
              context.addElement(context.elt("Frontmatter", 0, context.lineStart + line.text.length));
              context.nextLine();
              return true;
            }
            return true;
          },
        },
      ],
    },
  ],
});
