/** The customers of the sample shop. They are invented; example.com belongs to no one. */

const firstNames =
  'Ada Ben Chloe Dario Elif Farid Grace Hana Ivan Julia Kofi Lena Mateo Nora Omar Priya Quinn Rosa Sven Tara Umut Vera Wanda Yusuf Zoe Anna Bruno Carla David Emma Felix Gita'.split(
    ' ',
  );
const lastNames =
  'Adler Brandt Costa Dubois Evans Fischer Garcia Haddad Ito Jensen Kowalski Larsson Moreau Novak Okafor Patel Quist Rossi Silva Tanaka Ueda Vogel Walsh Young Zhang'.split(
    ' ',
  );

const places = [
  { city: 'Portland', state: 'OR', postal_code: '97205', country: 'US' },
  { city: 'Chicago', state: 'IL', postal_code: '60614', country: 'US' },
  { city: 'Austin', state: 'TX', postal_code: '78704', country: 'US' },
  { city: 'Brooklyn', state: 'NY', postal_code: '11215', country: 'US' },
  { city: 'Denver', state: 'CO', postal_code: '80203', country: 'US' },
];
const streets = ['Maple Street', 'Harbor Road', 'Lake View', 'Orchard Lane', 'Station Street', 'Mill Road'];

/** Numbers that card networks and processors publish for tests. The sandbox accepts each of them. */
export const goodCards = [
  '4242424242424242',
  '5555555555554444',
  '4111111111111111',
  '378282246310005',
  '4000056655665556',
  '6011111111111117',
  '2223003122003222',
  '5200828282828210',
] as const;

/** Cards that the sandbox declines, each for its own reason. */
export const decliningCards = [
  '4000000000009995',
  '4000000000000002',
  '4000000000000127',
  '4000000000000069',
  '4000000000009995',
  '4000000000000119',
] as const;

/** The first charge succeeds, later ones are declined. */
export const failsLaterCard = '4000009999000341';

export interface Person {
  readonly email: string;
  readonly first_name: string;
  readonly last_name: string;
  readonly phone: string;
  readonly shipping_address: Readonly<Record<'line1' | 'city' | 'state' | 'postal_code' | 'country', string>>;
  readonly tags: readonly string[];
}

const at = <Item>(list: readonly Item[], index: number): Item => list[index % list.length] as Item;

/** Returns the same person for the same number. Each has a phone number of those that are reserved for fiction. */
export function person(number: number): Person {
  const [first_name, last_name] = [at(firstNames, number), at(lastNames, number * 7)];
  return {
    email: `${first_name}.${last_name}@example.com`.toLowerCase(),
    first_name,
    last_name,
    phone: `+120255501${String(number).padStart(2, '0')}`,
    shipping_address: { line1: `${12 + number * 3} ${at(streets, number)}`, ...at(places, number * 3) },
    tags: number % 9 === 4 ? ['vip'] : [],
  };
}
