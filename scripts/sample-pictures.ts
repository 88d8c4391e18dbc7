import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';

/** `node scripts/sample-pictures.ts`: draws the pictures of the sample products into server/sample-pictures. */

const folder = fileURLToPath(new URL('../server/sample-pictures/', import.meta.url));

const steam = (x: number, y: number): string =>
  `<path d="M${x} ${y}c-14-20 14-34 0-56" fill="none" stroke="#fff" stroke-opacity=".7" stroke-width="9" stroke-linecap="round"/>`;
const table = (color: string): string => `<rect y="352" width="480" height="128" fill="${color}"/>`;
const shadow = (x: number, y: number, width: number): string =>
  `<ellipse cx="${x}" cy="${y}" rx="${width}" ry="15" fill="#000" opacity=".13"/>`;
const leaf = (x: number, y: number, turn: number, color: string): string =>
  `<g transform="translate(${x} ${y}) rotate(${turn})"><path d="M0 0c26-30 62-26 82 0-20 26-56 30-82 0z" fill="${color}"/><path d="M4 0h72" stroke="#fff" stroke-opacity=".45" stroke-width="3"/></g>`;

const pictures: Readonly<Record<string, { readonly ground: string; readonly drawing: string }>> = {
  'tea-pot': {
    ground: '#dbe9e0',
    drawing: `${table('#c3d8cb')}${shadow(244, 386, 150)}
      <path d="M338 250c66-26 92 8 74 52-14 34-58 46-92 40" fill="none" stroke="#1f6b4f" stroke-width="24" stroke-linecap="round"/>
      <path d="M146 276c-52-6-58-66-94-74l-6 22c26 10 24 86 98 104z" fill="#1a5a43"/>
      <path d="M128 284c0-74 50-112 114-112s114 38 114 112c0 66-46 98-114 98s-114-32-114-98z" fill="#1f6b4f"/>
      <path d="M158 262c6-40 30-62 62-68" fill="none" stroke="#fff" stroke-opacity=".35" stroke-width="14" stroke-linecap="round"/>
      <path d="M178 178c8-26 120-26 128 0z" fill="#174f3b"/><circle cx="242" cy="146" r="16" fill="#174f3b"/>`,
  },
  'tea-cup': {
    ground: '#f3e3d6',
    drawing: `${table('#e6cfbd')}${shadow(236, 390, 136)}${steam(196, 168)}${steam(240, 156)}${steam(284, 168)}
      <path d="M334 226c62-12 76 74 4 88" fill="none" stroke="#fff" stroke-width="22" stroke-linecap="round"/>
      <path d="M122 204h228c4 108-40 172-114 172s-118-64-114-172z" fill="#fff"/>
      <ellipse cx="236" cy="206" rx="114" ry="26" fill="#f6f1ec"/><ellipse cx="236" cy="210" rx="98" ry="19" fill="#b5713b"/>
      <path d="M132 256c60 22 150 22 208 0l-5 22c-56 20-142 20-198 0z" fill="#3f7f9c"/>`,
  },
  class: {
    ground: '#dfe4f2',
    drawing: `${shadow(240, 404, 170)}<rect x="70" y="92" width="340" height="236" rx="18" fill="#2d3a5e"/><rect x="88" y="110" width="304" height="200" rx="8" fill="#f5f7fc"/>
      <path d="M40 344h400l-22 44a18 18 0 0 1-16 10H78a18 18 0 0 1-16-10z" fill="#46557f"/>
      <path d="M186 192h96c2 50-16 82-48 82s-50-32-48-82z" fill="#1f6b4f"/><path d="M280 206c30-6 34 34 0 42" fill="none" stroke="#1f6b4f" stroke-width="10"/>
      <path d="M214 178c-8-12 8-18 0-32M250 178c-8-12 8-18 0-32" fill="none" stroke="#9aa7c7" stroke-width="6" stroke-linecap="round"/>
      <circle cx="354" cy="146" r="20" fill="#d9604c"/><path d="M348 136l16 10-16 10z" fill="#fff"/>`,
  },
  oolong: {
    ground: '#e9ead2',
    drawing: `${table('#d8dab8')}${shadow(240, 392, 120)}
      <path d="M146 128h188l14 256a12 12 0 0 1-12 12H144a12 12 0 0 1-12-12z" fill="#a8864a"/>
      <path d="M146 128l10-44h168l10 44z" fill="#8d6f3a"/><path d="M150 106h180" stroke="#6f562b" stroke-width="6"/>
      <rect x="170" y="176" width="140" height="150" rx="8" fill="#fbf7ea"/>${leaf(198, 236, -28, '#6d8b3c')}${leaf(204, 258, 24, '#86a54e')}
      <path d="M192 312h96" stroke="#8d6f3a" stroke-width="7" stroke-linecap="round"/>`,
  },
  matcha: {
    ground: '#dcecc9',
    drawing: `${table('#c5dcab')}${shadow(214, 390, 112)}${shadow(372, 394, 62)}
      <path d="M108 180h212v192c0 12-48 22-106 22s-106-10-106-22z" fill="#3e5f2c"/><ellipse cx="214" cy="180" rx="106" ry="26" fill="#f1f4e6"/>
      <ellipse cx="214" cy="182" rx="92" ry="20" fill="#7fb23f"/><rect x="108" y="246" width="212" height="78" fill="#f1f4e6"/>${leaf(174, 286, 0, '#7fb23f')}
      <path d="M346 268h52l8 44h-68z" fill="#c9a368"/><path d="M338 312h68l-6 76h-56z" fill="#e0bf85"/>
      <path d="M350 316v68M362 316v70M374 316v70M388 316v68" stroke="#b48a4c" stroke-width="4"/><rect x="354" y="214" width="36" height="56" rx="8" fill="#b48a4c"/>`,
  },
  'gift-box': {
    ground: '#f6dcd9',
    drawing: `${table('#ebc5c1')}${shadow(240, 396, 158)}
      <rect x="100" y="214" width="280" height="180" rx="8" fill="#b8434a"/><rect x="84" y="168" width="312" height="58" rx="8" fill="#cd5259"/>
      <rect x="216" y="168" width="48" height="226" fill="#f8e7c9"/>
      <path d="M240 168c-70 4-104-26-90-54 16-30 78-12 90 54zM240 168c70 4 104-26 90-54-16-30-78-12-90 54z" fill="none" stroke="#f8e7c9" stroke-width="22" stroke-linejoin="round"/>
      <circle cx="240" cy="166" r="18" fill="#ecd3a6"/>`,
  },
};

await mkdir(folder, { recursive: true });
for (const [name, { ground, drawing }] of Object.entries(pictures)) {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="280" height="280" viewBox="0 0 480 480"><rect width="480" height="480" fill="${ground}"/>${drawing}</svg>`;
  const { size } = await sharp(Buffer.from(svg))
    .png({ palette: true, colours: 16, compressionLevel: 9, effort: 10 })
    .toFile(`${folder}${name}.png`);
  process.stdout.write(`${name}.png ${size} bytes\n`);
}
