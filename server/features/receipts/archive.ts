import type PDFDocument from 'pdfkit';
import { escapeXml } from '../../platform/xml.ts';
import { srgbProfile } from '../../platform/typesetting/srgb-profile.ts';
import type { ReceiptDocument } from './document.ts';

/**
 * What a PDF says about itself, and the e-invoice in it: then it is a PDF for archives (PDF/A-3b) by the rules of Factur-X, which are
 * those of ZUGFeRD. pdfkit can write PDF/A too, but reads a file that a release does not have.
 */

/** What pdfkit has, and its types leave out. */
interface Internals {
  readonly _root: { readonly data: Record<string, unknown> };
}

type Document = InstanceType<typeof PDFDocument>;

const fileName = 'factur-x.xml';
const colors = 'sRGB IEC61966-2.1';
const namespace = 'urn:factur-x:pdfa:CrossIndustryDocument:invoice:1p0#';

/** The names of Factur-X, with what they mean. */
const properties = [
  ['DocumentFileName', 'The name of the embedded XML document', fileName],
  ['DocumentType', 'The type of the hybrid document', 'INVOICE'],
  ['Version', 'The version of the standard of the embedded XML document', '1.0'],
  ['ConformanceLevel', 'The conformance level of the embedded XML document', 'EN 16931'],
] as const;

export function describe(doc: Document, receipt: ReceiptDocument): void {
  const { eInvoice } = receipt;
  // pdfkit would write the texts as they are, so that a name with an ampersand would be no XML.
  Object.assign(doc, { _addInfo: () => doc.appendXML(metadataOf(receipt)) });
  if (eInvoice === undefined) return;
  doc.appendXML(archiveMetadata());
  const profile = doc.ref({ N: 3 });
  profile.end(srgbProfile());
  const intent = doc.ref({
    Type: 'OutputIntent',
    S: 'GTS_PDFA1',
    Info: Buffer.from(colors),
    OutputConditionIdentifier: Buffer.from(colors),
    DestOutputProfile: profile,
  });
  intent.end(undefined);
  const { _root: root } = doc as unknown as Internals;
  root.data.OutputIntents = [intent];
  const attached = {
    name: fileName,
    type: 'text/xml',
    description: 'Factur-X',
    relationship: 'Alternative',
    modifiedDate: new Date(receipt.createdAtMs),
  };
  doc.file(Buffer.from(eInvoice), attached);
}

/** `attributes` are those of the element around the parts. */
const described = (attributes: string, parts: string): string =>
  `<rdf:Description rdf:about="" ${attributes}>${parts}</rdf:Description>`;

function metadataOf({ subject, merchantName, createdAtMs }: ReceiptDocument): string {
  const at = `${new Date(createdAtMs).toISOString().slice(0, 19)}Z`;
  return [
    described(
      'xmlns:xmp="http://ns.adobe.com/xap/1.0/"',
      `<xmp:CreateDate>${at}</xmp:CreateDate><xmp:CreatorTool>PDFKit</xmp:CreatorTool>`,
    ),
    described(
      'xmlns:dc="http://purl.org/dc/elements/1.1/"',
      `<dc:title><rdf:Alt><rdf:li xml:lang="x-default">${escapeXml(subject)}</rdf:li></rdf:Alt></dc:title>` +
        `<dc:creator><rdf:Seq><rdf:li>${escapeXml(merchantName)}</rdf:li></rdf:Seq></dc:creator>`,
    ),
    described('xmlns:pdf="http://ns.adobe.com/pdf/1.3/"', '<pdf:Producer>PDFKit</pdf:Producer>'),
  ].join('\n');
}

/** A PDF for archives explains properties that its standard does not know. */
function archiveMetadata(): string {
  const explained = properties.map(
    ([name, description]) =>
      `<rdf:li rdf:parseType="Resource"><pdfaProperty:name>${name}</pdfaProperty:name>` +
      '<pdfaProperty:valueType>Text</pdfaProperty:valueType><pdfaProperty:category>external</pdfaProperty:category>' +
      `<pdfaProperty:description>${description}</pdfaProperty:description></rdf:li>`,
  );
  return [
    described(
      'xmlns:pdfaid="http://www.aiim.org/pdfa/ns/id/"',
      '<pdfaid:part>3</pdfaid:part><pdfaid:conformance>B</pdfaid:conformance>',
    ),
    described(
      'xmlns:pdfaExtension="http://www.aiim.org/pdfa/ns/extension/" xmlns:pdfaSchema="http://www.aiim.org/pdfa/ns/schema#" ' +
        'xmlns:pdfaProperty="http://www.aiim.org/pdfa/ns/property#"',
      '<pdfaExtension:schemas><rdf:Bag><rdf:li rdf:parseType="Resource">' +
        '<pdfaSchema:schema>Factur-X PDFA Extension Schema</pdfaSchema:schema>' +
        `<pdfaSchema:namespaceURI>${namespace}</pdfaSchema:namespaceURI><pdfaSchema:prefix>fx</pdfaSchema:prefix>` +
        `<pdfaSchema:property><rdf:Seq>${explained.join('')}</rdf:Seq></pdfaSchema:property>` +
        '</rdf:li></rdf:Bag></pdfaExtension:schemas>',
    ),
    described(
      `xmlns:fx="${namespace}"`,
      properties.map(([name, , value]) => `<fx:${name}>${value}</fx:${name}>`).join(''),
    ),
  ].join('\n');
}
