use super::*;
use crate::scenario::Role;
use arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampSecondArray, UInt64Array,
};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::sync::Arc;

fn parse(bytes: impl AsRef<[u8]>) -> Result<Vec<TraceFlow>, TraceError> {
    parse_trace(Path::new("flows.any"), bytes.as_ref())
}

fn message(bytes: impl AsRef<[u8]>) -> String {
    parse(bytes).expect_err("a mistake").to_string()
}

fn parquet(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    compressed(columns, Compression::UNCOMPRESSED)
}

fn compressed(columns: Vec<(&str, ArrayRef)>, compression: Compression) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    )
    .expect("a batch");
    let mut file = Vec::new();
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut writer =
        ArrowWriter::try_new(&mut file, batch.schema(), Some(properties)).expect("a writer");
    writer.write(&batch).expect("written");
    writer.close().expect("closed");
    file
}

/// The five columns that have to be there, for two flows.
fn required() -> Vec<(&'static str, ArrayRef)> {
    vec![
        ("src", Arc::new(Int32Array::from(vec![1, 2]))),
        ("dst", Arc::new(Int64Array::from(vec![0, 0]))),
        ("bytes", Arc::new(UInt64Array::from(vec![4_000_000, 1]))),
        ("start_ns", Arc::new(Float64Array::from(vec![0.5, 1_000.0]))),
        ("dscp", Arc::new(Float64Array::from(vec![Some(8.0), None]))),
    ]
}

#[test]
fn csv_has_columns_in_any_order_units_comments_and_gaps() {
    let flows = parse(
        "# made by hand\n\
         start_ns, src,dst,bytes,dscp,role,ect,rate,packet\n\
         0.5,1,0,4MB,8,trimmable,1,100Gbps,1KB\n\
         # the second\n\
         1000,2,0,1,,,,,\n",
    )
    .expect("valid");
    let first = TraceFlow {
        src: 1,
        dst: 0,
        bytes: 4_000_000,
        start: 500,
        packet: Some(1_000),
        dscp: Some(8),
        ect: Some(true),
        role: Some(Role::Trimmable),
        rate: Some(100_000_000_000),
    };
    let second = TraceFlow {
        src: 2,
        bytes: 1,
        start: 1_000_000,
        packet: None,
        dscp: None,
        ect: None,
        role: None,
        rate: None,
        ..first
    };
    assert_eq!(flows, [first, second]);
}

#[test]
fn parquet_says_the_same() {
    let mut columns = required();
    columns.push(("packet", Arc::new(Int32Array::from(vec![Some(1_000), None]))));
    columns.push(("ect", Arc::new(BooleanArray::from(vec![Some(true), None]))));
    columns.push(("role", Arc::new(StringArray::from(vec![Some("trimmable"), None]))));
    columns.push(("rate", Arc::new(StringArray::from(vec!["100Gbps", ""]))));
    let csv = "src,dst,bytes,start_ns,dscp,packet,ect,role,rate\n\
               1,0,4000000,0.5,8,1000,true,trimmable,100000000000\n\
               2,0,1,1000,,,,,\n";
    assert_eq!(parse(parquet(columns)).expect("valid"), parse(csv).expect("valid"));
}

/// Snappy is what pyarrow, pandas, DuckDB and Spark write unless told otherwise.
#[test]
fn parquet_is_read_as_others_compress_it() {
    let plain = parse(parquet(required())).expect("valid");
    for compression in [Compression::SNAPPY, Compression::ZSTD(Default::default())] {
        assert_eq!(parse(compressed(required(), compression)).expect("valid"), plain);
    }
}

#[test]
fn the_order_of_the_file_is_kept() {
    let rows: String = (0..5_000).rev().map(|start| format!("0,1,9,{start},0\n")).collect();
    let flows = parse(format!("src,dst,bytes,start_ns,dscp\n{rows}")).expect("valid");
    assert!((0..5_000).rev().map(|ns| ns * 1_000).eq(flows.iter().map(|flow| flow.start)));
}

#[test]
fn a_mistake_in_csv_is_named_with_line_and_column() {
    let line = |line: &str| message(format!("src,dst,bytes,start_ns,dscp,ect,role,rate\n{line}\n"));
    let cases = [
        ("x,0,1,0,0,,,", "`src` is `x`: hosts are numbered from 0"),
        ("-1,0,1,0,0,,,", "`src` is `-1`: hosts are numbered from 0"),
        ("1,,1,0,0,,,", "`dst` is ``: give a value"),
        ("1,1,1,0,0,,,", "`dst` is `1`: is `src` too; a host does not send to itself"),
        ("1,0,0,0,0,,,", "`bytes` is `0`: a flow has at least 1 byte"),
        (
            "1,0,1,0.0001,0,,,",
            "`start_ns` is `0.0001`: give a time in ns, 0 or more, that is a whole number of ps",
        ),
        (
            "1,0,1,5us,0,,,",
            "`start_ns` is `5us`: give a time in ns, 0 or more, that is a whole number of ps",
        ),
        ("1,0,1,0,64,,,", "`dscp` is `64`: code points are 0 to 63"),
        ("1,0,1,0,0,yes,,", "`ect` is `yes`: give true or false, or 1 or 0"),
        (
            "1,0,1,0,0,,data,",
            "`role` is `data`: roles are no-trim, trimmable, trimmable-retransmit, control and \
             trimmed",
        ),
        ("1,0,1,0,0,,,0", "`rate` is `0`: leave it empty for line rate"),
    ];
    for (text, expected) in cases {
        assert_eq!(line(text), format!("flows.any:2: {expected}"));
    }
    let huge = line("1,0,99999999999999999999,0,0,,,");
    assert!(
        huge.ends_with(
            "`bytes` is `99999999999999999999`: is too large: at most 18446744073709551615"
        ),
        "{huge}"
    );
    let unit = line("1,0,1,0,0,,,5kb");
    assert!(unit.starts_with("flows.any:2: `rate` is `5kb`: "), "{unit}");
}

#[test]
fn a_mistake_in_columns_is_named() {
    assert!(message("src,dst,bytes,start_ns\n").contains("no column `dscp` (found: src,dst,"));
    let unknown = message("src,dst,byte,start_ns,dscp\n");
    assert!(unknown.contains("unknown column `byte`, did you mean `bytes`?"), "{unknown}");
    let unknown = message("src,dst,bytes,start_ns,dscp,comment\n");
    assert!(unknown.contains("unknown column `comment`; a trace has the columns"), "{unknown}");
    assert!(message("src,src,dst\n").contains("column `src` is there twice"));
    assert!(message("").contains("no column `src`"));
    let short = message("src,dst,bytes,start_ns,dscp\n1,0,1,0,0\n1,0\n");
    assert!(short.contains("not a CSV file of flows") && short.contains("line: 3"), "{short}");
}

#[test]
fn a_mistake_in_parquet_is_named_with_row_and_column() {
    let mut columns = required();
    columns[3].1 = Arc::new(Float64Array::from(vec![0.0, 0.000_1]));
    assert_eq!(
        message(parquet(columns)),
        "flows.any: row 1 (from 0): `start_ns` is `0.0001`: give a time in ns, 0 or more, that \
         is a whole number of ps"
    );
    let mut columns = required();
    columns[0].1 = Arc::new(Int32Array::from(vec![Some(1), None]));
    assert_eq!(message(parquet(columns)), "flows.any: row 1 (from 0): `src` is ``: give a value");
    let mut columns = required();
    columns[3].1 = Arc::new(TimestampSecondArray::from(vec![0, 0]));
    let message_of_type = message(parquet(columns));
    assert!(message_of_type.contains("column `start_ns` is of type Timestamp"));
    let mut columns = required();
    columns.truncate(4);
    assert!(message(parquet(columns)).contains("no column `dscp`"));
    assert!(message(b"PAR1 and nothing more").contains("cannot decode this Parquet file"));
}
