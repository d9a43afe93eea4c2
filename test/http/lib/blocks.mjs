// blocks.mjs - the code blocks of a README, so that tests run what people copy.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..');

/** [{lang, text, line}] of a file, by its path from the project's root. */
export function codeBlocks(file) {
    const blocks = [];
    let open = null;
    fs.readFileSync(path.join(ROOT, file), 'utf8').split('\n').forEach((line, i) => {
        const fence = /^```(\w*)$/.exec(line);
        if (!fence) open?.lines.push(line);
        else if (!open) open = { lang: fence[1], lines: [], line: i + 1 };
        else {
            blocks.push({ lang: open.lang, text: open.lines.join('\n'), line: open.line });
            open = null;
        }
    });
    return blocks;
}

/** The one block of a file that holds `words`. */
export function codeBlock(file, words) {
    const found = codeBlocks(file).filter(b => b.text.includes(words));
    if (found.length !== 1) throw new Error(`${file}: ${found.length} code blocks with "${words}"`);
    return found[0];
}

/** [{command, output}] of a block in which commands follow a "$ ". */
export function dialogue({ text }) {
    return text.split(/^\$ /m).slice(1).map(part => {
        const lines = part.trimEnd().split('\n');
        // a command goes on while a quote is open or a line ends in a backslash
        let n = 1;
        const isOpen = () => {
            const command = lines.slice(0, n).join('\n');
            return command.endsWith('\\') || command.replace(/[^']/g, '').length % 2;
        };
        while (n < lines.length && isOpen()) n++;
        return { command: lines.slice(0, n).join('\n'), output: lines.slice(n).join('\n') };
    });
}
