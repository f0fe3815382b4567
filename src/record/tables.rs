//! A set of tables, small enough to keep one a job.

use crate::record::StoredTable;
use crate::scenario::Table;

/// The tables of a job that may hold rows, in the order of their declaration.
const ALL: [Table; 10] = [
    Table::Jobs,
    Table::PortBuffers,
    Table::SwitchBuffers,
    Table::Drops,
    Table::Pfc,
    Table::PortCounters,
    Table::Flows,
    Table::Transport,
    Table::LoadBalancing,
    Table::PfcEvents,
];

/// A set of [`Table`]s. Written as their names with commas, in the order of declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TableSet(u16);

impl TableSet {
    /// Every table a job may leave rows in.
    pub fn all() -> Self {
        ALL.into_iter().collect()
    }

    /// Adds a table.
    pub fn insert(&mut self, table: Table) {
        self.0 |= bit(table);
    }

    /// Takes a table out.
    pub fn remove(&mut self, table: Table) {
        self.0 &= !bit(table);
    }

    /// Whether the table is in the set.
    pub fn contains(self, table: Table) -> bool {
        self.0 & bit(table) != 0
    }

    /// Whether every table of `other` is in the set.
    pub fn covers(self, other: TableSet) -> bool {
        other.0 & !self.0 == 0
    }

    /// Whether a table is in the set whose rows depend on the length of an interval.
    pub fn has_intervals(self) -> bool {
        self.iter().any(|table| !matches!(table, Table::Jobs | Table::Flows | Table::PfcEvents))
    }

    /// The tables, in the order of declaration.
    pub fn iter(self) -> impl Iterator<Item = Table> {
        ALL.into_iter().filter(move |&table| self.contains(table))
    }

    /// The comma list, as the `tables` column of `jobs` has it.
    pub fn to_list(self) -> String {
        let names: Vec<_> = self.iter().map(|table| StoredTable::from(table).name()).collect();
        names.join(",")
    }

    /// Reads a comma list; names it does not know are left out, so that nothing is claimed for them.
    pub fn from_list(list: &str) -> Self {
        let named = |name| ALL.into_iter().find(|&t| StoredTable::from(t).name() == name);
        list.split(',').filter_map(named).collect()
    }
}

impl FromIterator<Table> for TableSet {
    fn from_iter<I: IntoIterator<Item = Table>>(tables: I) -> Self {
        let mut set = TableSet::default();
        tables.into_iter().for_each(|table| set.insert(table));
        set
    }
}

fn bit(table: Table) -> u16 {
    1 << table as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_names_what_is_in_and_reads_back() {
        let set: TableSet = [Table::Pfc, Table::Jobs].into_iter().collect();
        assert_eq!(set.to_list(), "jobs,pfc");
        assert_eq!(TableSet::from_list("jobs,pfc"), set);
        assert_eq!(TableSet::from_list(""), TableSet::default());
        assert_eq!(TableSet::from_list(&TableSet::all().to_list()), TableSet::all());
    }

    #[test]
    fn covering_needs_every_table() {
        let few = TableSet::from_list("jobs,pfc");
        assert!(TableSet::all().covers(few));
        assert!(few.covers(few));
        assert!(!few.covers(TableSet::all()));
        assert!(!TableSet::from_list("jobs,flows").has_intervals());
        assert!(few.has_intervals());
    }
}
