import type { EvidenceText } from '../notices.ts';

/** Writes texts as a PDF, because Adyen takes documents only. */

const lineLengthMax = 90;
const linesPerPage = 60;

const titleOf = (name: string): string => {
  const words = name.replaceAll('_', ' ');
  return words.slice(0, 1).toUpperCase() + words.slice(1);
};

function wrapped(text: string): string[] {
  return text.split(/\r?\n/).flatMap((paragraph) => {
    const lines: string[] = [];
    let line = '';
    for (const word of paragraph.split(' ').flatMap((long) => long.match(/.{1,90}/gu) ?? [''])) {
      if (line !== '' && line.length + 1 + word.length > lineLengthMax) {
        lines.push(line);
        line = word;
      } else line = line === '' ? word : `${line} ${word}`;
    }
    return [...lines, line];
  });
}

/** The standard fonts of PDF have the characters of Latin-1 only. */
function literal(line: string): string {
  const latin = [...line.normalize('NFC')].map((character) =>
    /[\x20-\x7e\xa0-\xff]/.test(character) ? character : '?',
  );
  return `(${latin.join('').replace(/[\\()]/g, '\\$&')}) Tj T*`;
}

export function pdfOf(texts: Readonly<Partial<Record<EvidenceText, string>>>): Buffer {
  const lines = Object.entries(texts).flatMap(([name, text]) => [titleOf(name), ...wrapped(text), '']);
  const pages = Array.from({ length: Math.max(1, Math.ceil(lines.length / linesPerPage)) }, (_, page) =>
    lines.slice(page * linesPerPage, (page + 1) * linesPerPage),
  );
  const pageNumber = (page: number): number => 4 + 2 * page;
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Count ${pages.length} /Kids [${pages.map((_, page) => `${pageNumber(page)} 0 R`).join(' ')}] >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>',
    ...pages.flatMap((page, index) => {
      const content = `BT /F1 10 Tf 50 790 Td 12.5 TL\n${page.map(literal).join('\n')}\nET`;
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Contents ${pageNumber(index) + 1} 0 R >>`,
        `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
      ];
    }),
  ];
  let file = '%PDF-1.4\n';
  const offsets = objects.map((object, index) => {
    const offset = file.length;
    file += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(offset).padStart(10, '0')} 00000 n \n`;
  });
  const start = file.length;
  const size = objects.length + 1;
  file += `xref\n0 ${size}\n0000000000 65535 f \n${offsets.join('')}trailer\n<< /Size ${size} /Root 1 0 R >>\n`;
  return Buffer.from(`${file}startxref\n${start}\n%%EOF\n`, 'latin1');
}
