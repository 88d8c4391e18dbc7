import { IconButton } from '../../components/button.tsx';
import { Field, Select } from '../../components/fields.tsx';
import { Picker } from '../../components/picker.tsx';
import { useGet } from '../../data.ts';
import { shortId } from '../../format.ts';
import { common } from '../../texts/common.ts';
import { coupons } from '../../texts/coupons.ts';

interface Named {
  readonly id: string;
  readonly name: string;
}

interface ScopeProps {
  readonly label: string;
  readonly path: '/v1/products' | '/v1/plans';
  readonly scope: string;
  readonly ids: readonly string[];
  readonly error: string | undefined;
  readonly onChange: (scope: string, ids: readonly string[]) => void;
}

/** The scope of a coupon: all, none, or selected objects. */
export function ScopeField({ label, path, scope, ids, error, onChange }: ScopeProps) {
  return (
    <div className="flex flex-col gap-2">
      <Field label={label} error={error}>
        {(attributes) => (
          <Select
            {...attributes}
            value={scope}
            choices={Object.entries(coupons.scopes).map(([value, text]) => ({ value, label: text }))}
            onChange={(event) => onChange(event.target.value, event.target.value === 'specific' ? ids : [])}
          />
        )}
      </Field>
      {scope === 'specific' && (
        <>
          <Picker<Named>
            label={coupons.addTo(label)}
            path={path}
            query={{ active: true }}
            textOf={({ name }) => name}
            value={undefined}
            onChange={(item) => {
              if (item && !ids.includes(item.id)) onChange(scope, [...ids, item.id]);
            }}
          />
          <ul className="flex flex-col gap-1">
            {ids.map((id) => (
              <Chosen
                key={id}
                path={path}
                id={id}
                onRemove={() =>
                  onChange(
                    scope,
                    ids.filter((other) => other !== id),
                  )
                }
              />
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

function Chosen({ path, id, onRemove }: { path: string; id: string; onRemove: () => void }) {
  const name = useGet<Named>(`${path}/${id}`).data?.name ?? shortId(id);
  return (
    <li className="flex items-center justify-between rounded-[8px] bg-sunken pl-3">
      {name}
      <IconButton label={`${common.remove} ${name}`} icon="close" onClick={onRemove} />
    </li>
  );
}
