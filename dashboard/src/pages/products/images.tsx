import { useQueryClient } from '@tanstack/react-query';
import { type DragEvent, useRef, useState } from 'react';
import { ApiError, call, changeField, upload } from '../../api.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { ErrorNote, useAction } from '../../components/form.tsx';
import { Icon } from '../../components/icons.tsx';
import { Panel } from '../../components/page.tsx';
import { toast } from '../../components/toasts.tsx';
import { common } from '../../texts/common.ts';
import { products } from '../../texts/products.ts';
import type { Product, ProductImage } from '../../types.ts';

interface Uploading {
  readonly name: string;
  readonly share: number;
}

/** Adds images by drop, reorders them by drag or with buttons, and deletes them. */
export function Images({ product, reason }: { product: Product; reason: string | undefined }) {
  const client = useQueryClient();
  const [over, setOver] = useState(false);
  const [uploading, setUploading] = useState<Uploading>();
  const [problem, setProblem] = useState<ApiError>();
  const [dragged, setDragged] = useState<string>();
  const [removing, setRemoving] = useState<ProductImage>();
  const path = `/v1/products/${product.id}/images`;
  const images = [...(product.images ?? [])].toSorted((left, right) => left.order - right.order);

  async function add(files: readonly File[]): Promise<void> {
    setProblem(undefined);
    try {
      for (const file of files) {
        setUploading({ name: file.name, share: 0 });
        await upload<ProductImage>(path, file, (share) => setUploading({ name: file.name, share }));
        toast(products.uploaded);
      }
    } catch (error) {
      if (error instanceof ApiError) setProblem(error);
    } finally {
      setUploading(undefined);
      void client.invalidateQueries();
    }
  }
  const reorder = useAction<readonly string[], unknown>({
    send: (ids, key) => changeField(`${path}/reorder`, 'image_ids', ids, key),
  });
  function move(id: string, to: number): void {
    const ids = images.map((image) => image.id).filter((other) => other !== id);
    ids.splice(to, 0, id);
    void reorder.run(ids);
  }
  function onDrop(event: DragEvent): void {
    event.preventDefault();
    setOver(false);
    setDragged(undefined);
    const files = dragged ? [] : [...event.dataTransfer.files];
    if (files.length > 0 && reason === undefined) void add(files);
  }
  const error = problem ?? reorder.error;
  return (
    <Panel title={products.images}>
      {/* The whole panel accepts files. Otherwise the browser would open a file that is dropped beside the target. */}
      <div
        onDragOver={(event) => {
          event.preventDefault();
          setOver(dragged === undefined);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={onDrop}
      >
        <p className="mb-3 text-muted">{products.imagesHint}</p>
        {images.length > 0 && (
          <ol className="mb-4 flex flex-wrap gap-3">
            {images.map((image, index) => (
              <ImageTile
                key={image.id}
                image={image}
                place={index + 1}
                count={images.length}
                productName={product.name}
                editable={reason === undefined}
                onDrag={setDragged}
                onDropHere={() => {
                  if (!dragged || dragged === image.id) return false;
                  move(dragged, index);
                  setDragged(undefined);
                  return true;
                }}
                onMove={(by) => move(image.id, index + by)}
                onRemove={() => setRemoving(image)}
              />
            ))}
          </ol>
        )}
        <DropTarget over={over} uploading={uploading} reason={reason} onFiles={(files) => void add(files)} />
        {error && (
          <div className="mt-3">
            <ErrorNote error={error} />
          </div>
        )}
      </div>
      {removing && (
        <Confirm
          title={products.deleteImage}
          confirm={common.delete}
          danger
          send={(key) => call('DELETE', `${path}/${removing.id}`, { key })}
          onClose={() => setRemoving(undefined)}
        >
          <img src={removing.url} alt="" className="max-h-48 rounded-[8px]" />
        </Confirm>
      )}
    </Panel>
  );
}

interface ImageTileProps {
  readonly image: ProductImage;
  readonly place: number;
  readonly count: number;
  readonly productName: string;
  readonly editable: boolean;
  readonly onDrag: (id: string | undefined) => void;
  /** Whether another image was dropped on this one. */
  readonly onDropHere: () => boolean;
  readonly onMove: (by: -1 | 1) => void;
  readonly onRemove: () => void;
}

function ImageTile({ image, place, count, productName, editable, ...on }: ImageTileProps) {
  return (
    <li
      draggable={editable}
      onDragStart={() => on.onDrag(image.id)}
      onDragEnd={() => on.onDrag(undefined)}
      onDrop={(event) => {
        if (!on.onDropHere()) return;
        event.preventDefault();
        event.stopPropagation();
      }}
      className="panel w-32 overflow-hidden"
    >
      <img
        draggable={false}
        src={image.url}
        alt={products.imageAlt(productName, place)}
        className="aspect-square w-full object-cover"
      />
      {editable && (
        <div className="flex justify-between">
          <IconButton
            label={products.moveLeft(place)}
            icon="left"
            disabled={place === 1}
            onClick={() => on.onMove(-1)}
          />
          <IconButton label={products.removeImage(place)} icon="close" onClick={on.onRemove} />
          <IconButton
            label={products.moveRight(place)}
            icon="right"
            disabled={place === count}
            onClick={() => on.onMove(1)}
          />
        </div>
      )}
    </li>
  );
}

interface DropTargetProps {
  readonly over: boolean;
  readonly uploading: Uploading | undefined;
  readonly reason: string | undefined;
  readonly onFiles: (files: readonly File[]) => void;
}

function DropTarget({ over, uploading, reason, onFiles }: DropTargetProps) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <div
      className={`flex flex-col items-center gap-2 rounded-[8px] border-2 border-dashed p-6 text-muted ${over ? 'border-accent-ink bg-accent-soft' : 'border-line'}`}
    >
      <Icon name="upload" size={24} />
      {uploading ? (
        <div role="status" className="flex w-full max-w-60 flex-col gap-1 text-center">
          <span className="truncate">{products.uploading(uploading.name)}</span>
          <progress
            aria-label={products.uploading(uploading.name)}
            className="w-full accent-accent"
            value={uploading.share}
            max={1}
          />
        </div>
      ) : (
        <>
          <span>{products.drop}</span>
          <Button small reason={reason} onClick={() => input.current?.click()}>
            {products.choose}
          </Button>
        </>
      )}
      <input
        ref={input}
        type="file"
        accept="image/jpeg,image/png,image/gif"
        multiple
        hidden
        aria-label={products.choose}
        onChange={(event) => {
          onFiles([...(event.target.files ?? [])]);
          event.target.value = '';
        }}
      />
    </div>
  );
}
